// Follows a path one name at a time, by descriptor, so that no other user can lead us elsewhere.
#pragma once

#include <sys/stat.h>

#include <functional>
#include <optional>
#include <string>

#include "os/error.hpp"
#include "os/fd.hpp"

namespace os {

enum class Missing { create, give_up };

/// The place that a path leads to: a name in a directory.
struct Location {
  Fd directory;      // O_PATH
  std::string name;  // "." for the directory itself
  std::string path;  // of both, with links resolved: for messages
  /// A name in procfs, to which /dev/stdout leads: only the kernel can follow its links.
  bool is_magic = false;

  /// Opens it. Does not follow a link that was put there in the meantime.
  [[nodiscard]] Fd open(int flags) const;
  /// lstat(2) of it.
  [[nodiscard]] Result<struct stat> status() const;
};

/// The mode of a directory for us alone.
inline constexpr mode_t ours_alone = 0700;
/// The bits of a mode that say who may do what.
inline constexpr mode_t permissions = 0777;

/// mkdir(2) for us alone, whatever the umask, which stays as it is. EEXIST if the name exists.
Result<Done> make_private(const Fd& directory, const std::string& name);

/// Rejects an unfit directory, link or file on the way. The path is for the message.
using Rule =
    std::function<std::optional<Error>(const struct stat& status, const std::string& path)>;

/// Refuses symbolic links of users other than us and root: their owner can point them anywhere. The
/// error has number 0, and its text names the link.
std::optional<Error> refuse_foreign_link(const struct stat& status, const std::string& path);

/// Follows symbolic links, the last one included, and applies the rule to each directory, link and
/// file on the way before using it. The last name need not exist. On request, makes missing
/// directories before it, for us alone.
Result<Location> resolve(const std::string& path, Missing directories = Missing::give_up,
                         const Rule& rule = refuse_foreign_link);

}  // namespace os
