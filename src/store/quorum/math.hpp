// The arithmetic of a quorum (Redlock), without sockets: the meaning of all nodes' answers
// together. Every rule here depends on its arguments alone.
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

/// The node's answer, if it is of `Kind`; null otherwise.
template <class Kind, class Answer>
const Kind* given(const std::optional<Answer>& answer) {
  return answer ? std::get_if<Kind>(&*answer) : nullptr;
}
/// The same for an answer that may be a Fault: the Fault, the value, or one kind of value.
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

/// Whether the missing answers cannot change if a majority answers `Kind`.
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

/// How long a decided request waits for late nodes.
struct LastCall {
  /// A node that answered the last request is worth waiting for, lest a lock without a holder stay
  /// on it. One that falls silent costs this time once.
  static constexpr Millis longest{500};
  /// A node that was never asked, or was silent, may be far away: before it accepts the connection,
  /// no request reaches it.
  static constexpr Millis to_connect{50};
  /// A connected node acts on the request whether we get the answer or not. It may be on a busy
  /// machine, where the others also took long. The next refresh mends what it misses.
  static constexpr Millis shortest{5};

  Deadline for_the_reliable;
  Deadline for_the_connected;
  Deadline for_others;
};
/// For a request that `began` then and is decided `now`. `unheard_for` is the longest time that a
/// silent node had for a claim: it may take as long to receive the withdrawal, which therefore gets
/// that time and a quarter more.
LastCall last_call(Moment began, Moment now, Moment::duration unheard_for);

/// The answers that are missing in `first`.
Answers<Attempt> since(const Answers<Attempt>& first, Answers<Attempt> all);

/// The lease, if a majority granted it. Its fence and the number of the run for a slot are the
/// highest that any node gave.
std::optional<Lease> granted(const Answers<Attempt>& answers);

/// Whether a majority reported on the lock, with any result.
bool most_told(const Answers<Attempt>& answers);

/// Whether why_not() can return something other than a Fault, or never will.
bool reason_is_known(const Answers<Attempt>& answers);

/// Whether the node may hold the claim: one without an answer may have granted it.
bool may_have_it(const std::optional<Attempt>& answer);

/// How the slot was done, if a node says so. One is enough: the run that ended it told a majority,
/// and every majority has a node that knows. The last of several such runs.
std::optional<SlotDone> slot_done(const Answers<Attempt>& answers);

/// Why no majority granted it: the slot is done, Busy with the holder that a majority names, Busy
/// without a holder if several clients hold parts of the nodes, or a Fault.
Attempt why_not(const Answers<Attempt>& answers);

/// How many nodes may still become ours: those that granted, and those where other clients are also
/// trying and no waiter is before us.
std::size_t open_to_us(const Answers<Attempt>& answers);

/// The most waiters before us in the queues of a majority, or in all queues that we are in.
std::size_t ahead(const Answers<Attempt>& answers);

/// A single Fault for all: the most important kind, and how many nodes it affects.
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

/// Pairs of nodes that granted with the same number, of which one had done so before. One server
/// asked under two names does so, but so do two servers if a client asks both again.
std::vector<std::pair<std::size_t, std::size_t>> alike(const Answers<Attempt>& answers);

/// The fence of one grant among the nodes' numbers: the majority's. If too few answered, the
/// lowest: a node that granted late with a higher number keeps that number (see acquire_round), and
/// no lease has it.
std::optional<Fence> fence_among(const std::vector<Fence>& numbers, std::size_t of);

/// Until when a majority, by its own reports, holds the lock.
std::optional<StillOurs> standing(const Answers<Standing>& answers);

/// Merges the reports of several nodes: the holders that a majority of `of` nodes has, or may have
/// because a node without an answer may hold the lock; and likewise the waiters.
LockReport merged(const LockName& name, const std::vector<LockReport>& reports, std::size_t of);

}  // namespace store::quorum
