// Making the node that stands for a claim.
#pragma once

#include <string>
#include <variant>

#include "store/zookeeper/session.hpp"

namespace store::zookeeper {

/// The path of a new node below `place`, the lock's own, which is made with the way to it if it is
/// not there. After a silent fault it may have been made: look for the token before trying again.
std::variant<std::string, Fault> stand_in_line(Session& session, const std::string& place,
                                               const Claim& claim, const CallLimit& limit);

}  // namespace store::zookeeper
