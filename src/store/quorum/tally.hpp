// Redlock's arithmetic, without a socket.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "store/lock_store.hpp"

namespace store::quorum {

template <class Answer>
using Answers = std::vector<std::optional<Answer>>;

/// More than half.
constexpr std::size_t majority(std::size_t of) {
  return of / 2 + 1;
}

template <class Kind, class Answer>
std::size_t count(const Answers<Answer>& answers) {
  std::size_t number = 0;
  for (const auto& each : answers) {
    if (each && std::holds_alternative<Kind>(*each)) ++number;
  }
  return number;
}

/// Whether it is decided if a majority answers so, whatever those say who have not yet.
template <class Kind, class Answer>
bool decided(const Answers<Answer>& answers, std::size_t still_to_answer) {
  const auto yes = count<Kind>(answers);
  return yes >= majority(answers.size()) || yes + still_to_answer < majority(answers.size());
}

/// Who has not answered, or was not asked.
template <class Answer>
std::vector<std::size_t> late(const Answers<Answer>& answers) {
  std::vector<std::size_t> nodes;
  for (std::size_t node = 0; node < answers.size(); ++node) {
    if (!answers[node]) nodes.push_back(node);
  }
  return nodes;
}

/// A grant by a majority; its fence is the highest that was given.
std::optional<Lease> granted(const Answers<Attempt>& answers);

/// Why no majority granted it.
struct NotGranted {
  enum class Why { busy, split, fault } why;  // split: nobody has it
  std::optional<Holder> occupant;             // of a majority, for busy
  Fault fault;
};
NotGranted not_granted(const Answers<Attempt>& answers);

/// One fault for all: the one that matters most, and how many nodes it is about.
Fault summary(const std::vector<Fault>& faults, std::size_t of);

template <class Answer>
Fault summary(const Answers<Answer>& answers) {
  std::vector<Fault> faults;
  for (const auto& each : answers) {
    if (!each) {
      faults.push_back({Fault::Kind::silent, "no answer in time"});
    } else if (const auto* fault = std::get_if<Fault>(&*each)) {
      faults.push_back(*fault);
    }
  }
  return summary(faults, answers.size());
}

/// Which of the numbers that nodes gave one grant is its fence: a majority's. If too few answered,
/// the lowest: a node that was late with a higher one keeps that (see bid), and it counts nowhere.
std::optional<Fence> fence_among(const std::vector<Fence>& numbers, std::size_t of);

/// Until when a majority holds it: each node by its own word.
std::optional<StillOurs> standing(const Answers<Standing>& answers);

}  // namespace store::quorum
