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

/// Where a path leads: a name in a directory.
struct Location {
  Fd directory;      // O_PATH
  std::string name;  // "." for the directory itself
  std::string path;  // of both, without the links that were followed: for messages
  /// A name in procfs, as /dev/stdout leads to one: only the kernel can follow its links.
  bool is_magic = false;

  /// Opens it. Follows no link that has been put there meanwhile.
  [[nodiscard]] Fd open(int flags) const;
  /// lstat(2) of it.
  [[nodiscard]] Result<struct stat> status() const;
};

/// The mode of a directory for us alone.
inline constexpr mode_t ours_alone = 0700;

/// mkdir(2) for us alone, whatever the umask is. EEXIST if anything is there. Only while no other
/// thread makes files.
Result<Done> make_private(const Fd& directory, const std::string& name);

/// What makes a directory, a link or a file on the way unfit. The path is for the message.
using Rule =
    std::function<std::optional<Error>(const struct stat& status, const std::string& path)>;

/// Refuses symbolic links that belong neither to us nor to root: their owner can point them
/// anywhere. The error has the number 0, and its text names the link.
std::optional<Error> refuse_foreign_link(const struct stat& status, const std::string& path);

/// Follows symbolic links, the last one as well, and shows the rule each directory, link and file
/// on the way, before it is used. The last name need not exist; directories before it that do not
/// exist are made on request, for us alone.
Result<Location> resolve(const std::string& path, Missing directories = Missing::give_up,
                         const Rule& rule = refuse_foreign_link);

}  // namespace os
