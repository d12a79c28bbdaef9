// The variables that tell a job about its locks, for the job and for an rlock inside it.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "store/lock_store.hpp"
#include "store/server_url.hpp"

namespace hold {

/// The variables that describe a job's locks.
inline constexpr std::array<std::string_view, 10> job_variables{
    "RLOCK_KEY",   "RLOCK_TOKEN", "RLOCK_FENCE",   "RLOCK_FENCES", "RLOCK_HELD",
    "RLOCK_HOLDS", "RLOCK_SLOT",  "RLOCK_ATTEMPT", "RLOCK_PERMIT", "RLOCK_RESOURCE"};

/// A lock that an enclosing run holds.
struct OuterHold {
  store::Token token;
  std::string server;  // as shown to people, without a password
  std::string key;     // made printable, which keeps keys as distinct as they are
  store::Fence fence;  // as given to its job; 0 if unknown
};

/// The server, as described to a job.
struct ServerToTell {
  std::string shown;                           // for RLOCK_HOLDS
  std::optional<store::ServerUrl> url{};       // RLOCK_SERVER
  std::optional<std::string> password_file{};  // RLOCK_PASSWORD_FILE
};

/// From RLOCK_HOLDS; empty if we are not the job of an rlock.
std::vector<OuterHold> outer_holds();

/// Our own environment ("NAME=value" each, in order), with these replaced: RLOCK_TOKEN,
/// RLOCK_HELD=1, RLOCK_HOLDS; RLOCK_SERVER and RLOCK_PASSWORD_FILE if `server` has them; RLOCK_KEY
/// and RLOCK_FENCE for one lease, or RLOCK_FENCES (lines "key=fence") for several; RLOCK_SLOT and
/// RLOCK_ATTEMPT if there is a slot; and for one lease RLOCK_PERMIT, and RLOCK_RESOURCE if the
/// permit has a name. Under the token of our own environment these last two stay as they are.
std::vector<std::string> job_environment(const std::vector<store::Lease>& leases,
                                         const ServerToTell& server,
                                         const std::optional<store::Slot>& slot = std::nullopt);

/// Why the system would start no program with the variables of a job under these locks: one is too
/// long, or all together. Nothing if it would. For use before the locks are acquired.
std::optional<std::string> too_much_to_tell(const std::vector<store::Claim>& claims,
                                            const std::vector<std::string>& command,
                                            const ServerToTell& server,
                                            const std::optional<store::Slot>& slot = std::nullopt);

}  // namespace hold
