// From a claim to the grant, or to a place in the line.
#pragma once

#include <string>

#include "store/zookeeper/session.hpp"

namespace store::zookeeper {

/// Where this process stands.
struct Stand {
  std::string place;    // the lock's node
  std::string node;     // ours below it; empty while there is none
  std::string blocker;  // the one we wait for; empty if there is nothing to wait for
};

/// Stands in the line, unless the token does already, and looks who is before it. `asked_at` is
/// from when on the lease counts.
Attempt apply(Session& session, const Claim& claim, Stand& stand, Moment asked_at,
              const CallLimit& limit);

}  // namespace store::zookeeper
