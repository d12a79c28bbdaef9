// Where a waiter stands in the queues of the nodes, and how it sleeps there. The queues are only an
// order and a wake: who has the lock, more than half of the nodes say (acquire_round.hpp).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "store/quorum/nodes.hpp"

namespace store::quorum {

/// One thread at a time, apart from what a FanOut does with the nodes.
class QueueWait {
 public:
  /// The claim with its position. The ticket is the time of our clock when we came, so that all
  /// nodes order alike; or what they made of it, for nodes that we come to later.
  [[nodiscard]] Claim in_queue(Claim claim);
  /// What the nodes answered to a bid that began then and got no majority. `has_holder`: a majority
  /// has one holder.
  void note(const Answers<Attempt>& answers, bool has_holder, Moment began);
  /// Until a node has something to tell, or it is time to bid again or to give back.
  Turn sleep(Nodes& nodes, const Claim& claim, const CallLimit& limit);

  /// The nodes that have granted a claim that got no majority, when it is time to give that back:
  /// it is off then.
  [[nodiscard]] std::vector<std::size_t> to_give_back();

 private:
  std::optional<Bid::Ticket> ticket_{};  // nothing before the first bid
  bool has_holder_ = false;
  std::vector<std::size_t> queued_;  // the nodes in whose queue we stand
  std::vector<std::size_t> kept_;    // those that have granted it
  Deadline keep_until_ = Deadline::never();
  Deadline bid_again_ = Deadline::never();
  std::string cut_;  // why a node let us not wait, since the last bid
};

/// A notice that came from a node, as confirm_stopped() takes it; and that, as the node gave it.
Notice wrapped(Notice notice, std::size_t node);
std::pair<std::size_t, Notice> unwrapped(const Notice& notice);

}  // namespace store::quorum
