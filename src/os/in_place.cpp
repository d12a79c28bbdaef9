#include "os/in_place.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cerrno>

#include "os/fd.hpp"
#include "os/file.hpp"

namespace os {
namespace {

bool is_ours(const struct stat& status) {
  return status.st_uid == ::geteuid() || status.st_uid == 0;
}

/// Only root mounts something over a file. Linux says so since 5.8; before, a mount from the same
/// file system cannot be told.
bool is_mount(const std::string& path) {
  struct statx file {};
  struct stat beside {};
  if (::statx(AT_FDCWD, path.c_str(), AT_SYMLINK_NOFOLLOW, STATX_BASIC_STATS, &file) != 0) {
    return false;
  }
  if ((file.stx_attributes_mask & STATX_ATTR_MOUNT_ROOT) != 0) {
    return (file.stx_attributes & STATX_ATTR_MOUNT_ROOT) != 0;
  }
  return ::stat(directory_of(path).c_str(), &beside) == 0 &&
         makedev(file.stx_dev_major, file.stx_dev_minor) != beside.st_dev;
}

/// In a directory of another user the name may be a second one of a file that is ours.
bool is_trusted(const std::string& path) {
  struct stat file {};
  struct stat directory {};
  return ::lstat(path.c_str(), &file) == 0 && is_ours(file) && file.st_nlink == 1 &&
         ::stat(directory_of(path).c_str(), &directory) == 0 && is_ours(directory);
}

}  // namespace

bool is_fixed(const std::string& path) {
  struct stat status {};
  if (::lstat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) return false;
  if (::access(path.c_str(), W_OK) != 0) return false;
  if (is_mount(path)) return true;
  return ::access(directory_of(path).c_str(), W_OK | X_OK) != 0 && is_trusted(path);
}

Result<Done> write_in_place(const std::string& path, std::string_view text) {
  constexpr int flags = O_WRONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;
  const Fd file{::open(path.c_str(), flags)};
  struct stat status {};
  if (!file || ::fstat(file.number(), &status) != 0) return last_error();
  // The name may be another file's by now.
  if (!S_ISREG(status.st_mode) || !is_fixed(path)) return Error{EAGAIN, {}};
  if (::ftruncate(file.number(), 0) != 0) return last_error();
  return write_all(file, text);
}

}  // namespace os
