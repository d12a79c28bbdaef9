// What the job is told about the locks it runs under, and what we are told if we are such a job.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "store/lock_store.hpp"
#include "store/server_url.hpp"

namespace hold {

/// What a job is told of its locks.
inline constexpr std::array<std::string_view, 10> job_variables{
    "RLOCK_KEY",   "RLOCK_TOKEN", "RLOCK_FENCE",   "RLOCK_FENCES", "RLOCK_HELD",
    "RLOCK_HOLDS", "RLOCK_SLOT",  "RLOCK_ATTEMPT", "RLOCK_PERMIT", "RLOCK_RESOURCE"};

/// A lock that a run around us holds.
struct OuterHold {
  store::Token token;
  std::string server;  // as it is shown to people, without a password
  std::string key;     // made printable, which tells keys apart as well as they are themselves
  store::Fence fence;  // that its job was given; 0 if that is not said
};

/// What a job is told of its server.
struct ServerToTell {
  std::string shown;                           // for RLOCK_HOLDS
  std::optional<store::ServerUrl> url{};       // RLOCK_SERVER
  std::optional<std::string> password_file{};  // RLOCK_PASSWORD_FILE
};

/// From RLOCK_HOLDS; empty if we are no job of an rlock.
std::vector<OuterHold> outer_holds();

/// Our own environment ("NAME=value" each, in order) with, in place of what these were before:
/// RLOCK_TOKEN, RLOCK_HELD=1, RLOCK_SERVER and RLOCK_PASSWORD_FILE where they are to be told,
/// RLOCK_HOLDS, and RLOCK_KEY and RLOCK_FENCE for one lease, or RLOCK_FENCES (lines "key=fence")
/// for several; RLOCK_SLOT and RLOCK_ATTEMPT where there is a slot; of one lease, RLOCK_PERMIT and
/// RLOCK_RESOURCE where it has a permit and that has a name. Under the token of our own environment
/// these two stay as they are.
std::vector<std::string> job_environment(const std::vector<store::Lease>& leases,
                                         const ServerToTell& server,
                                         const std::optional<store::Slot>& slot = std::nullopt);

/// Why the system would start no program with what the job under these locks is told: one variable
/// is too long, or everything together. Nothing if it would. For before the locks are taken.
std::optional<std::string> too_much_to_tell(const std::vector<store::Claim>& claims,
                                            const std::vector<std::string>& command,
                                            const ServerToTell& server,
                                            const std::optional<store::Slot>& slot = std::nullopt);

}  // namespace hold
