// The names of the keys that belong to one lock.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "store/names.hpp"

namespace store::redis {

/// All in the Cluster slot of the lock: K:rlock:x where K has a non-empty {tag}, else {K}:rlock:x.
/// The lock "{a}" would so share its companions with the lock "a"; a name that looks like another's
/// stem gets "." appended, which changes no slot, and no two locks share anything.
struct LockKeys {
  explicit LockKeys(const LockName& name);

  std::string queue;
  std::string alive;
  std::string fence;
  std::string held;
  std::string grants;
  std::string runs;
  std::string slot;     // its id follows
  std::string mailbox;  // the token of its owner follows
};

/// The lock that keeps its own data under this key, whatever it is. Such a key cannot be a lock's
/// name: the two would overwrite each other.
std::optional<LockName> owner_of_key(std::string_view key);

/// The lock that a key belongs to which is there while the lock is held or waited for, and a day
/// longer: its fence or queue.
std::optional<LockName> lock_of_key(std::string_view key);
/// The lock whose runs are remembered under this key.
std::optional<LockName> lock_of_runs(std::string_view key);

/// Globs that find all of those by SCAN.
inline constexpr std::string_view lock_keys_glob = "*:rlock:[fq]*";
inline constexpr std::string_view runs_glob = "*:rlock:runs";

}  // namespace store::redis
