// A waiter's positions in the queues of the nodes, and its sleep there. The queues provide only an
// order and wakes: a majority of the nodes decides who holds the lock (acquire_round.hpp).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "store/quorum/nodes.hpp"

namespace store::quorum {

/// One thread at a time, except for a FanOut's work with the nodes.
class QueueWait {
 public:
  /// The claim with its position. The ticket is our clock's time of arrival, so that all nodes
  /// order alike; or the time that the first nodes made of it, for nodes that we reach later.
  [[nodiscard]] Claim in_queue(Claim claim);
  /// Records the answers to a bid that began then and got no majority. `has_holder`: a majority has
  /// one holder.
  void note(const Answers<Attempt>& answers, bool has_holder, Moment began);
  /// Until a node has a message, or until the next bid or release is due.
  Turn sleep(Nodes& nodes, const Claim& claim, const CallLimit& limit);

  /// The nodes that granted a claim without a majority, once it is time to release them: the claim
  /// is over then.
  [[nodiscard]] std::vector<std::size_t> to_give_back();

 private:
  std::optional<Bid::Ticket> ticket_{};  // nothing before the first bid
  bool has_holder_ = false;
  std::vector<std::size_t> queued_;  // nodes that have us in their queue
  std::vector<std::size_t> kept_;    // nodes that have granted the claim
  Deadline keep_until_ = Deadline::never();
  Deadline bid_again_ = Deadline::never();
  std::string cut_;  // why a node refused our wait, since the last bid
};

/// Converts a node's notice to one for confirm_stopped(), and back.
Notice wrapped(Notice notice, std::size_t node);
std::pair<std::size_t, Notice> unwrapped(const Notice& notice);

}  // namespace store::quorum
