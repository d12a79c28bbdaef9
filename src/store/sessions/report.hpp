// Everything that is known of one lock, for people.
#pragma once

#include <optional>

#include "store/lock_admin.hpp"
#include "store/sessions/memory.hpp"
#include "store/sessions/queue.hpp"
#include "store/sessions/session.hpp"

namespace store::sessions {

/// Empty if nobody wants the lock.
Result<LockQueue> read_queue(Session& session, const Places& places, const CallLimit& limit);
/// The nodes of those paths, which are read together; nothing where there is none.
Result<std::vector<std::optional<Node>>> read_all(Session& session,
                                                  const std::vector<std::string>& paths,
                                                  const CallLimit& limit);
/// The holder whose node this is, one of so many.
Holder holder_of(const Node& node, std::size_t holders);
/// The first holder; nothing if there is none, or if it cannot be read.
std::optional<Holder> first_holder(Session& session, const Places& places, const LockQueue& queue,
                                   const CallLimit& limit);

/// All holders and waiters, and the remembered runs: in a list of locks in use only of such a lock.
Result<LockReport> report_on(Session& session, const LockName& name, Listed which,
                             const CallLimit& limit);

}  // namespace store::sessions
