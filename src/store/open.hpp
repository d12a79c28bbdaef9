// The only file that knows every backend.
#pragma once

#include <memory>

#include "store/feature.hpp"
#include "store/finding.hpp"
#include "store/lock_admin.hpp"
#include "store/lock_store.hpp"
#include "store/spec.hpp"

namespace store {

/// Nothing is connected yet; the first call on the store does that.
std::unique_ptr<LockStore> open(const ServerSpec& server);
/// The same behind a gate: of all of this user who wait on this host for a lock there, one does so
/// at the server, whose name is `shown`.
std::unique_ptr<LockStore> open_gated(const ServerSpec& server, std::string_view shown);
std::unique_ptr<LockAdmin> open_admin(const ServerSpec& server);

/// Whether locks of that kind of server can do this.
bool can(const ServerSpec& server, Feature feature);

/// Whether it is fit to hold locks; `name` is taken and released for that, unless somebody holds
/// it.
Findings examine(const ServerSpec& server, const LockName& name, const CallLimit& limit);

}  // namespace store
