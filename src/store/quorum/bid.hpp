// One try to get a lock from more than half of the nodes.
#pragma once

#include "store/quorum/nodes.hpp"

namespace store::quorum {

struct Bid {
  /// Granted, Busy (by nobody in particular if those who tried at the same time share the nodes) or
  /// a Fault. What too few granted was given back.
  Attempt attempt;
  /// These have not said that they heard that, so they may hear it at any time from now on.
  std::vector<std::size_t> unsettled;
};

/// Asks `whom`.
Bid bid(Nodes& nodes, const std::vector<std::size_t>& whom, const Claim& claim,
        const CallLimit& limit);

/// Tells all of them that the claim is off; waits a while for those who are late.
void take_back(Nodes& nodes, const Claim& claim, const CallLimit& limit);

/// Asks one node. What it has of an earlier try of ours, which we gave up unheard, is no obstacle.
Attempt enter(QuorumNode& node, const Claim& claim, const CallLimit& limit);

}  // namespace store::quorum
