// The names of the keys of one lock.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "store/lock_admin.hpp"

namespace store::redis {

/// All in the Cluster slot of the lock: K:rlock:x if K has a non-empty {tag}, else {K}:rlock:x. The
/// lock "{a}" would then share its keys with the lock "a", so a name that looks like another's stem
/// gets "." appended. That changes no slot, and no two locks share a key.
struct LockKeys {
  explicit LockKeys(const LockName& name);

  std::string queue;
  std::string alive;
  std::string fence;
  std::string held;
  std::string grants;
  std::string runs;
  std::string slot;     // the slot's id follows
  std::string mailbox;  // the owner's token follows
};

/// The lock that keeps its own data under this key, of any kind. Such a key cannot be a lock's
/// name: the two would overwrite each other.
std::optional<LockName> owner_of_key(std::string_view key);

/// The lock that a list is to contain if there is this key: a fence or a queue, which exist while
/// the lock is held or waited for and a day longer, or the record of its runs.
std::optional<LockName> lock_listed_by(std::string_view key, Listed which);
/// For SCAN, which matches all of those keys.
std::string_view glob_of(Listed which);

}  // namespace store::redis
