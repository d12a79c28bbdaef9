#include "os/file.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <climits>
#include <cstdlib>
#include <memory>

namespace os {
namespace {

/// Where `path` is a symbolic link, the file behind it. Not for a link that is another user's.
Result<std::string> behind_links(const std::string& path) {
  struct stat status {};
  const bool is_link = ::lstat(path.c_str(), &status) == 0 && S_ISLNK(status.st_mode);
  if (is_link && status.st_uid != ::geteuid() && status.st_uid != 0) return Error{EACCES, {}};
  std::array<char, PATH_MAX> real{};
  return std::string{::realpath(path.c_str(), real.data()) != nullptr ? real.data() : path};
}

bool is_special(const std::string& path) {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0 && !S_ISREG(status.st_mode);
}

}  // namespace

std::string directory_of(const std::string& path) {
  const auto slash = path.rfind('/');
  return slash == std::string::npos ? "." : path.substr(0, slash + 1);
}

Result<Done> for_each_name(const std::string& directory,
                           const std::function<void(std::string_view)>& use) {
  const std::unique_ptr<DIR, int (*)(DIR*)> open{::opendir(directory.c_str()), ::closedir};
  if (!open) return last_error();
  errno = 0;
  while (const dirent* each = ::readdir(open.get())) {
    use(&each->d_name[0]);
    errno = 0;
  }
  if (errno != 0) return last_error();
  return Done{};
}

void remove_name(const std::string& path) {
  (void)::unlink(path.c_str());
}

Result<std::string> contents_of(const std::string& path) {
  const Fd file{::open(path.c_str(), O_RDONLY | O_CLOEXEC)};
  if (!file) return last_error();
  return contents_of(file);
}

Result<std::string> contents_of(const Fd& file) {
  std::string text;
  std::array<char, 4096> piece{};
  for (;;) {
    const ssize_t size = ::read(file.number(), piece.data(), piece.size());
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) return last_error();
    if (size == 0) return text;
    text.append(piece.data(), static_cast<std::size_t>(size));
  }
}

Result<Done> can_create(const std::string& path) {
  auto target = behind_links(path);
  if (!target) return std::move(target).error();
  struct stat status {};
  if (::stat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode)) return Error{EISDIR, {}};
  const bool special = is_special(path);
  const std::string asked = special ? path : directory_of(*target);
  if (::access(asked.c_str(), special ? W_OK : W_OK | X_OK) != 0) return last_error();
  return Done{};
}

Result<Done> replace_contents(const std::string& path, const std::string& text) {
  auto target = behind_links(path);
  if (!target) return std::move(target).error();
  if (is_special(path)) return append_to(path, text);
  std::string beside = *target + ".XXXXXX";
  const Fd file{::mkostemp(beside.data(), O_CLOEXEC)};  // mode 0600
  if (!file) return last_error();
  auto written = write_all(file, text);
  if (written && ::rename(beside.c_str(), target->c_str()) != 0) written = last_error();
  if (!written) ::unlink(beside.c_str());
  return written;
}

Result<Done> append_to(const std::string& path, const std::string& text) {
  const Fd file{::open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600)};
  if (!file) return last_error();
  return write_all(file, text);
}

Result<Done> write_all(const Fd& file, std::string_view text) {
  while (!text.empty()) {
    const ssize_t size = ::write(file.number(), text.data(), text.size());
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) return last_error();
    text.remove_prefix(static_cast<std::size_t>(size));
  }
  return Done{};
}

bool is_at(const std::string& path, const Fd& file) {
  struct stat ours {};
  struct stat there {};
  return ::fstat(file.number(), &ours) == 0 && ::lstat(path.c_str(), &there) == 0 &&
         ours.st_ino == there.st_ino && ours.st_dev == there.st_dev;
}

}  // namespace os
