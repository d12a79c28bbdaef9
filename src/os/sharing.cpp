#include "os/sharing.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

namespace os {
namespace {

constexpr unsigned ours_alone = 0700;

/// Root's files in a user's directory would be in the user's way for ever, had root to crash.
bool is_to_be_given(const Sharing& sharing) {
  return ::geteuid() == 0 && sharing.owner != 0 && !sharing.is_sticky;
}

/// One of ours that we were killed over before it had its mode.
bool is_unfinished(const std::string& path, const Sharing& sharing) {
  struct stat status {};
  return sharing.directory_mode() != ours_alone && ::stat(path.c_str(), &status) == 0 &&
         status.st_uid == ::geteuid() && (status.st_mode & 07777) == ours_alone;
}

/// What is missing above `path` is made for us alone, too.
bool make_with_parents(const std::string& path) {
  if (make_directory(path, {})) return true;
  const auto slash = path.find_last_not_of('/') == path.npos
                         ? path.npos
                         : path.rfind('/', path.find_last_not_of('/'));
  if (errno != ENOENT || slash == path.npos || slash == 0) return false;
  return make_with_parents(path.substr(0, slash)) && make_directory(path, {});
}

}  // namespace

bool make_directory(const std::string& path, const Sharing& sharing) {
  const bool made = ::mkdir(path.c_str(), ours_alone) == 0;
  if (!made && errno != EEXIST) return false;
  if (!made && !is_unfinished(path, sharing)) return true;
  if (is_to_be_given(sharing) && ::chown(path.c_str(), sharing.owner, ~gid_t{0}) != 0) return false;
  return ::chmod(path.c_str(), sharing.directory_mode()) == 0;
}

std::variant<Sharing, int> sharing_in(const std::string& path, bool create) {
  if (create && !make_with_parents(path)) return errno;
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) return errno;
  if (!S_ISDIR(status.st_mode)) return ENOTDIR;
  if ((status.st_mode & S_ISVTX) != 0) return Sharing{Sharing::With::nobody, true, status.st_uid};
  if ((status.st_mode & S_IWOTH) != 0) return EPERM;
  const bool group = (status.st_mode & S_IWGRP) != 0;
  return Sharing{group ? Sharing::With::group : Sharing::With::nobody, false, status.st_uid};
}

void share(const Fd& fd, const Sharing& sharing) {
  // Somebody else made it: then so be it, and who may not use it will hear.
  (void)::fchmod(fd.number(), sharing.file_mode());
  struct stat status {};
  // With a second name it may be something else that was put there.
  const bool ours = ::fstat(fd.number(), &status) == 0 && status.st_nlink == 1;
  if (ours && is_to_be_given(sharing)) (void)!::fchown(fd.number(), sharing.owner, ~gid_t{0});
}

}  // namespace os
