// One try to acquire a lock on more than half of the nodes.
#pragma once

#include "store/quorum/nodes.hpp"

namespace store::quorum {

struct AcquireRound {
  /// Granted, SlotDone, Busy (without a holder if several clients hold parts of the nodes) or a
  /// Fault. Grants of a minority are released, unless the result is Busy and the claim is to be
  /// queued: then they are kept, and the other nodes have it in their queues.
  Attempt attempt;
  /// The nodes that did not confirm the release: they may still process it at any time.
  std::vector<std::size_t> unsettled;
  /// The nodes whose grant may have a lower fence because it came too late.
  std::vector<std::size_t> unconfirmed;
  /// The answer of each node.
  Answers<Attempt> answers;
};

/// Asks the nodes in `asked`, after telling them that an `earlier` try is over.
AcquireRound acquire_round(Nodes& nodes, const std::vector<std::size_t>& asked, const Claim& claim,
                           const std::optional<Token>& earlier, const CallLimit& limit);

/// Releases the grants of these nodes, if they are not a majority. Returns the nodes that did not
/// confirm.
std::vector<std::size_t> give_back(Nodes& nodes, const std::vector<std::size_t>& granted,
                                   const Claim& claim, const CallLimit& limit);

/// Raises lower fences on these nodes to the lease's, and reports the run for the claim's slot to
/// them. Returns the nodes that did not answer.
std::vector<std::size_t> raise(Nodes& nodes, const Claim& claim, const Lease& lease,
                               const std::vector<std::size_t>& lower, const CallLimit& limit);

/// Withdraws the claim from all nodes and their queues; waits a while for late ones.
void take_back(Nodes& nodes, const Claim& claim, const CallLimit& limit);

/// Asks one node. A grant of an earlier try of the same claim, whose answer was lost, is no
/// obstacle.
Attempt enter(LockStore& node, const Claim& claim, const CallLimit& limit);

}  // namespace store::quorum
