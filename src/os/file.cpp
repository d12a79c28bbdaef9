#include "os/file.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <memory>
#include <string_view>

#include "os/sharing.hpp"

namespace os {

std::optional<std::string> contents_of(const std::string& path) {
  const Fd file{::open(path.c_str(), O_RDONLY | O_CLOEXEC)};
  return file ? contents_of(file) : std::nullopt;
}

std::optional<std::string> contents_of(const Fd& file) {
  std::string text;
  std::array<char, 4096> piece{};
  for (;;) {
    const ssize_t size = ::read(file.number(), piece.data(), piece.size());
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) return std::nullopt;
    if (size == 0) return text;
    text.append(piece.data(), static_cast<std::size_t>(size));
  }
}

std::string directory_of(const std::string& path) {
  const auto slash = path.rfind('/');
  return slash == std::string::npos ? "." : path.substr(0, slash + 1);
}

bool for_each_name(const std::string& directory, const std::function<void(std::string_view)>& use) {
  const std::unique_ptr<DIR, int (*)(DIR*)> open{::opendir(directory.c_str()), ::closedir};
  if (!open) return false;
  errno = 0;
  while (const dirent* each = ::readdir(open.get())) use(&each->d_name[0]);
  return errno == 0;
}

void remove_name(const std::string& path) {
  (void)::unlink(path.c_str());
}

namespace {

/// Where `path` is a symbolic link, the file behind it. Nothing, with errno, for a link that is
/// somebody else's.
std::optional<std::string> behind_links(const std::string& path) {
  struct stat status {};
  const bool is_link = ::lstat(path.c_str(), &status) == 0 && S_ISLNK(status.st_mode);
  if (is_link && status.st_uid != ::geteuid() && status.st_uid != 0) {
    errno = EACCES;
    return std::nullopt;
  }
  std::array<char, PATH_MAX> real{};
  return ::realpath(path.c_str(), real.data()) != nullptr ? real.data() : path;
}

bool write_all(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t size = ::write(fd, text.data(), text.size());
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) return false;
    text.remove_prefix(static_cast<std::size_t>(size));
  }
  return true;
}

bool is_special(const std::string& path) {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0 && !S_ISREG(status.st_mode);
}

}  // namespace

bool can_create(const std::string& path) {
  const auto target = behind_links(path);
  if (!target) return false;
  struct stat status {};
  if (::stat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode)) {
    errno = EISDIR;
    return false;
  }
  if (is_special(path)) return ::access(path.c_str(), W_OK) == 0;
  return ::access(directory_of(*target).c_str(), W_OK | X_OK) == 0;
}

bool replace_contents(const std::string& path, const std::string& text) {
  const auto target = behind_links(path);
  if (!target) return false;
  if (is_special(path)) return append_to(path, text);
  std::string beside = *target + ".XXXXXX";
  const Fd file{::mkostemp(beside.data(), O_CLOEXEC)};  // mode 0600
  if (!file) return false;
  if (write_all(file.number(), text) && ::rename(beside.c_str(), target->c_str()) == 0) return true;
  const int error = errno;
  ::unlink(beside.c_str());
  errno = error;
  return false;
}

bool write_contents(const std::string& path, const std::string& text, const Sharing& sharing) {
  const Fd file{::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600)};
  if (!file) return false;
  share(file, sharing);
  return write_all(file.number(), text);
}

bool is_private_directory(const std::string& path, bool create) {
  if (create && ::mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) return false;
  struct stat status {};
  if (::lstat(path.c_str(), &status) != 0) return false;
  if (S_ISDIR(status.st_mode) && status.st_uid == ::geteuid() && (status.st_mode & 022) == 0) {
    return true;
  }
  errno = EPERM;
  return false;
}

bool is_at(const std::string& path, const Fd& file) {
  struct stat ours {};
  struct stat there {};
  return ::fstat(file.number(), &ours) == 0 && ::lstat(path.c_str(), &there) == 0 &&
         ours.st_ino == there.st_ino && ours.st_dev == there.st_dev;
}

void occupy_standard_descriptors() {
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    // The lowest number that is free is this one.
    if (::fcntl(fd, F_GETFD) < 0) (void)::open("/dev/null", O_RDWR | O_CLOEXEC);
  }
}

void close_on_exec(int fd) {
  (void)::fcntl(fd, F_SETFD, FD_CLOEXEC);
}

bool append_to(const std::string& path, const std::string& text) {
  const Fd file{::open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600)};
  return file && write_all(file.number(), text);
}

}  // namespace os
