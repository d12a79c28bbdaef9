// One try to get a lock from more than half of the nodes.
#pragma once

#include "store/quorum/nodes.hpp"

namespace store::quorum {

struct AcquireRound {
  /// Granted, SlotDone, Busy (without a holder if the claims of several clients share the nodes) or
  /// a Fault.
  /// What a minority granted was given back; but if it is Busy and the claim is one to queue, it
  /// was not, and the other nodes have it in their queues.
  Attempt attempt;
  /// The nodes that did not confirm that they heard of the giving back: they may still hear of it
  /// at any time from now on.
  std::vector<std::size_t> unsettled;
  /// Where the fence of a grant is perhaps a lower one: the nodes that granted it too late.
  std::vector<std::size_t> unconfirmed;
  /// What each node said.
  Answers<Attempt> answers;
};

/// Asks the nodes `asked`, after they were told that an `earlier` try is off.
AcquireRound acquire_round(Nodes& nodes, const std::vector<std::size_t>& asked, const Claim& claim,
                           const std::optional<Token>& earlier, const CallLimit& limit);

/// Gives back what these nodes granted, if there is no majority of them. Those that did not confirm
/// it.
std::vector<std::size_t> give_back(Nodes& nodes, const std::vector<std::size_t>& granted,
                                   const Claim& claim, const CallLimit& limit);

/// Makes the lease's fence that of its grant on these nodes, where that is a lower one; and tells
/// them which run for the claim's slot it is.
void raise(Nodes& nodes, const Claim& claim, const Lease& lease,
           const std::vector<std::size_t>& lower, const CallLimit& limit);

/// Tells all nodes that the claim is off, and out of their queues; waits a while for the late ones.
void take_back(Nodes& nodes, const Claim& claim, const CallLimit& limit);

/// Asks one node. A grant of an earlier try of the same claim, which was given up unheard, is no
/// obstacle.
Attempt enter(LockStore& node, const Claim& claim, const CallLimit& limit);

}  // namespace store::quorum
