#include "os/in_place.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cerrno>

#include "os/fd.hpp"
#include "os/file.hpp"
#include "os/objection.hpp"

namespace os {
namespace {

/// In another user's directory the name may be a second link to a file of ours.
bool is_trusted(const Location& place, const struct stat& file) {
  struct stat directory {};
  return is_ours_or_roots(file) && file.st_nlink == 1 &&
         ::fstat(place.directory.number(), &directory) == 0 && is_ours_or_roots(directory);
}

}  // namespace

// Only root mounts something over a file. Linux reports it since 5.8; before, a mount from the same
// file system looks like any file.
bool is_mount(const Location& place) {
  struct statx file {};
  struct stat beside {};
  const int directory = place.directory.number();
  if (::statx(directory, place.name.c_str(), AT_SYMLINK_NOFOLLOW, STATX_BASIC_STATS, &file) != 0) {
    return false;
  }
  if ((file.stx_attributes_mask & STATX_ATTR_MOUNT_ROOT) != 0) {
    return (file.stx_attributes & STATX_ATTR_MOUNT_ROOT) != 0;
  }
  return ::fstat(directory, &beside) == 0 &&
         makedev(file.stx_dev_major, file.stx_dev_minor) != beside.st_dev;
}

bool is_fixed(const Location& place) {
  const auto status = place.status();
  const int directory = place.directory.number();
  if (!status || !S_ISREG(status->st_mode)) return false;
  if (::faccessat(directory, place.name.c_str(), W_OK, as_effective_user()) != 0) return false;
  if (is_mount(place)) return true;
  return ::faccessat(directory, ".", W_OK | X_OK, as_effective_user()) != 0 &&
         is_trusted(place, *status);
}

bool is_kept_by_sticky(const Location& place) {
  struct stat directory {};
  const auto file = place.status();
  if (::geteuid() == 0 || !file || !S_ISREG(file->st_mode)) return false;
  if (::fstat(place.directory.number(), &directory) != 0) return false;
  return (directory.st_mode & S_ISVTX) != 0 && file->st_uid != ::geteuid() &&
         directory.st_uid != ::geteuid();
}

Result<Done> write_in_place(const Location& place, std::string_view text) {
  const Fd file = place.open(O_WRONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  struct stat status {};
  if (!file || ::fstat(file.number(), &status) != 0) return last_error();
  // The name may be another file's by now.
  if (!S_ISREG(status.st_mode) || !is_fixed(place)) return Error{EAGAIN, {}};
  if (::ftruncate(file.number(), 0) != 0) return last_error();
  return write_all(file, text);
}

}  // namespace os
