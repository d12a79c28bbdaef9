// Who may use what is made in a directory; umask(2) has no say in it.
#pragma once

#include <sys/types.h>

#include <string>
#include <variant>

#include "os/fd.hpp"

namespace os {

/// Those who may write to the directory: its owner, or its group as well.
struct Sharing {
  enum class With { nobody, group };
  With with = With::nobody;
  /// Anybody can make names here, and take away only their own (as in /tmp): a directory in it is
  /// to be trusted only if we made it.
  bool is_sticky = false;
  uid_t owner = 0;  // whom root gives what it makes there

  [[nodiscard]] unsigned file_mode() const { return with == With::group ? 0660 : 0600; }
  [[nodiscard]] unsigned directory_mode() const { return with == With::group ? 02770 : 0700; }
};

/// Of the directory `path`; makes one of our own, and what is missing above it, if `create`. Else
/// errno; EPERM if everybody may do there what they want.
std::variant<Sharing, int> sharing_in(const std::string& path, bool create);

/// Makes a directory, if there is none, for the same. False with errno.
bool make_directory(const std::string& path, const Sharing& sharing);

/// A file that was just made, for the same.
void share(const Fd& fd, const Sharing& sharing);

}  // namespace os
