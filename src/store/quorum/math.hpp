// The arithmetic of a quorum (Redlock), without a socket: what the answers of all nodes together
// mean. Every rule here depends on its arguments alone.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "store/fan_out.hpp"
#include "store/lock_admin.hpp"
#include "store/lock_store.hpp"

namespace store::quorum {

/// More than half.
constexpr std::size_t majority(std::size_t of) {
  return of / 2 + 1;
}

/// The answer of `Kind` that a node gave; null if it gave another one or none.
template <class Kind, class Answer>
const Kind* given(const std::optional<Answer>& answer) {
  return answer ? std::get_if<Kind>(&*answer) : nullptr;
}
/// The same, where the answer may be a Fault: that, what there is in its place, or one kind of it.
template <class Kind, class T>
const Kind* given(const std::optional<Result<T>>& answer) {
  if (!answer) return nullptr;
  if constexpr (std::is_same_v<Kind, Fault>) {
    return *answer ? nullptr : &answer->error();
  } else if (!*answer) {
    return nullptr;
  } else if constexpr (std::is_same_v<Kind, T>) {
    return &**answer;
  } else {
    return std::get_if<Kind>(&**answer);
  }
}

template <class Kind, class Answer>
std::size_t count(const Answers<Answer>& answers) {
  std::size_t number = 0;
  for (const auto& each : answers) {
    if (given<Kind>(each) != nullptr) ++number;
  }
  return number;
}

/// Whether the missing answers can no longer change if a majority answers `Kind`.
template <class Kind, class Answer>
bool decided(const Answers<Answer>& answers, std::size_t still_to_answer) {
  const auto yes = count<Kind>(answers);
  return yes >= majority(answers.size()) || yes + still_to_answer < majority(answers.size());
}

/// The nodes without an answer.
template <class Answer>
std::vector<std::size_t> late(const Answers<Answer>& answers) {
  std::vector<std::size_t> nodes;
  for (std::size_t node = 0; node < answers.size(); ++node) {
    if (!answers[node]) nodes.push_back(node);
  }
  return nodes;
}

/// Until when a question that is decided waits for the nodes that are late.
struct LastCall {
  /// A node that answered the last question is worth waiting for, so that no lock without a holder
  /// stays behind on it. One that falls silent costs this time once.
  static constexpr Millis longest{500};
  /// A node that was never asked before, or was silent, may be far away: as long as it has not
  /// taken the connection, nothing of what it is asked gets there.
  static constexpr Millis to_connect{50};
  /// One that has, does what it is asked whether we hear so or not. It may be on a busy machine,
  /// where the others took long as well. What it misses, the next refresh heals.
  static constexpr Millis shortest{5};

  Deadline for_the_reliable;
  Deadline for_the_connected;
  Deadline for_others;
};
/// For a question that `began` then and is decided `now`. `unheard_for` is the longest time that a
/// silent node was given for a claim: it may take as long to hear what takes the claim back, which
/// so is given as much time and a quarter more.
LastCall last_call(Moment began, Moment now, Moment::duration unheard_for);

/// The answers that `first` did not have yet.
Answers<Attempt> since(const Answers<Attempt>& first, Answers<Attempt> all);

/// The lease if a majority granted it; its fence is the highest that a node gave, and so is the
/// number of the run for a slot.
std::optional<Lease> granted(const Answers<Attempt>& answers);

/// Whether a majority said something of the lock, whatever that was.
bool most_told(const Answers<Attempt>& answers);

/// Whether why_not() has what it needs for another answer than a fault, or will never have that.
bool reason_is_known(const Answers<Attempt>& answers);

/// Whether the node may hold the claim: a node that was not heard may have granted it, too.
bool may_have_it(const std::optional<Attempt>& answer);

/// How the slot was done, if a node says so. One is enough: whoever ended that run told a majority,
/// and any majority has a node that heard it. Of several such runs the last one.
std::optional<SlotDone> slot_done(const Answers<Attempt>& answers);

/// Why no majority granted it: the slot is done, Busy with the holder that a majority names, Busy
/// without a holder if the claims of several clients share the nodes, or a Fault.
Attempt why_not(const Answers<Attempt>& answers);

/// How many nodes may yet become ours: those that granted, and those where others are on their way
/// as we are, and nobody is in line before us.
std::size_t open_to_us(const Answers<Attempt>& answers);

/// Not more than so many are before us in the queues of a majority, or of all that we stand in.
std::size_t ahead(const Answers<Attempt>& answers);

/// One fault for all: the kind that matters most, and how many nodes it is about.
Fault summary(const std::vector<Fault>& all, std::size_t of);

template <class Answer>
Fault summary(const Answers<Answer>& answers) {
  std::vector<Fault> faults;
  for (const auto& each : answers) {
    if (!each) {
      faults.push_back({Fault::Kind::silent, "no answer in time"});
    } else if (const auto* fault = given<Fault>(each)) {
      faults.push_back(*fault);
    }
  }
  return summary(faults, answers.size());
}

/// Pairs of nodes that granted with the same number, and one of them had done so before. One server
/// that is asked under two names does so. Two servers do where a client asks both once more.
std::vector<std::pair<std::size_t, std::size_t>> alike(const Answers<Attempt>& answers);

/// The fence of one grant, among the numbers that the nodes gave it: the majority's. If too few
/// answered, the lowest: a node that granted late with a higher number keeps that number (see
/// acquire_round), and no lease ever carries it.
std::optional<Fence> fence_among(const std::vector<Fence>& numbers, std::size_t of);

/// Until when a majority holds the lock, each node by its own word.
std::optional<StillOurs> standing(const Answers<Standing>& answers);

/// One report from those of several nodes: the holders that a majority of `of` nodes has, or may
/// have, because a node that did not answer may hold it as well; and the waiters, in the same way.
LockReport merged(const LockName& name, const std::vector<LockReport>& reports, std::size_t of);

}  // namespace store::quorum
