// What a line is in the words of the contract.
#pragma once

#include <optional>
#include <string>
#include <variant>

#include "store/lock_admin.hpp"
#include "store/zookeeper/line.hpp"
#include "store/zookeeper/session.hpp"

namespace store::zookeeper {

/// Who stands below the lock's node; nobody if it is not there.
std::variant<Line, Fault> line_at(Session& session, const std::string& place,
                                  const CallLimit& limit);
/// The first holder; nothing if there is none, or if it cannot be read.
std::optional<Holder> occupant_in(Session& session, const std::string& place, const Line& line,
                                  const CallLimit& limit);
/// Everybody in it.
std::variant<LockReport, Fault> report_on(Session& session, const std::string& place,
                                          const LockName& name, const CallLimit& limit);

}  // namespace store::zookeeper
