#include "os/file.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <climits>
#include <cstdlib>
#include <memory>
#include <optional>

#include "os/in_place.hpp"
#include "os/poll.hpp"

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

// A full pipe: its reader is at work or stands still.
constexpr base::Millis for_a_reader{2'000};

bool is_special(const std::string& path) {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0 && !S_ISREG(status.st_mode);
}

/// In a sticky directory another user's file cannot be replaced, although we may write there.
bool is_kept_by_sticky(const std::string& path) {
  struct stat file {};
  struct stat directory {};
  if (::geteuid() == 0 || ::lstat(path.c_str(), &file) != 0) return false;
  if (!S_ISREG(file.st_mode) || ::stat(directory_of(path).c_str(), &directory) != 0) return false;
  return (directory.st_mode & S_ISVTX) != 0 && file.st_uid != ::geteuid() &&
         directory.st_uid != ::geteuid();
}

/// An open file that a path names: /dev/stdout, /dev/fd/7, /proc/self/fd/1 lead to such a one.
/// Renaming a file over what it is open for would take that away from all who write there.
struct Descriptor {
  std::string path;           // /proc/PID/fd/NUMBER
  std::optional<int> number;  // where it is our own
};

std::optional<Descriptor> descriptor_behind(std::string path) {
  constexpr int most_links = 40;  // as the kernel has it
  for (int i = 0; i < most_links; ++i) {
    std::array<char, PATH_MAX> buffer{};
    if (::realpath(directory_of(path).c_str(), buffer.data()) == nullptr) return std::nullopt;
    const std::string directory = buffer.data();
    const std::string name = path.substr(path.rfind('/') + 1);
    if (directory.starts_with("/proc/") && directory.ends_with("/fd")) {
      const bool ours = directory == "/proc/" + std::to_string(::getpid()) + "/fd";
      int number = -1;
      std::from_chars(name.data(), name.data() + name.size(), number);
      return Descriptor{fmt::format("{}/{}", directory, name),
                        ours ? std::optional{number} : std::nullopt};
    }
    const ssize_t size = ::readlink(path.c_str(), buffer.data(), buffer.size());
    if (size <= 0) return std::nullopt;
    const std::string target{buffer.data(), static_cast<std::size_t>(size)};
    path = target.front() == '/' ? target : fmt::format("{}/{}", directory, target);
  }
  return std::nullopt;
}

Result<Done> is_open_for_writing(const Descriptor& descriptor) {
  if (descriptor.number) {
    const int mode = ::fcntl(*descriptor.number, F_GETFL);
    if (mode < 0) return last_error();
    if ((mode & O_ACCMODE) == O_RDONLY) return Error{EBADF, {}};
    return Done{};
  }
  if (::access(descriptor.path.c_str(), W_OK) != 0) return last_error();
  return Done{};
}

/// What is a pipe or a device is opened once more, with a mode of ours, so that no reader holds us
/// up; a file is written to where its writers are, and a socket cannot be opened.
Result<Done> write_behind(const Descriptor& descriptor, const std::string& text) {
  struct stat kind {};
  if (::stat(descriptor.path.c_str(), &kind) != 0) return last_error();
  const bool as_it_is = S_ISREG(kind.st_mode) || S_ISSOCK(kind.st_mode);
  if (!descriptor.number || !as_it_is) return append_to(descriptor.path, text);
  const Fd same{::fcntl(*descriptor.number, F_DUPFD_CLOEXEC, 0)};
  if (!same) return last_error();
  return write_all(same, text);
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

bool has_name(const std::string& path) {
  struct stat status {};
  return ::lstat(path.c_str(), &status) == 0 || errno != ENOENT;
}

void remove_name(const std::string& path) {
  (void)::unlink(path.c_str());
}

Result<std::string> contents_of(const std::string& path) {
  const Fd file{::open(path.c_str(), O_RDONLY | O_CLOEXEC)};
  if (!file) return last_error();
  return contents_of(file);
}

Result<std::string> contents_of(const Fd& file, std::size_t most) {
  std::string text;
  std::array<char, 4096> piece{};
  for (;;) {
    const ssize_t size = ::read(file.number(), piece.data(), piece.size());
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) return last_error();
    if (size == 0) return text;
    text.append(piece.data(), static_cast<std::size_t>(size));
    if (text.size() > most) return Error{EFBIG, {}};
  }
}

bool is_regular_file(const std::string& path) {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode) && !descriptor_behind(path);
}

Result<Done> can_create(const std::string& path) {
  if (path.empty()) return Error{ENOENT, {}};  // its directory would be "."
  auto target = behind_links(path);
  if (!target) return std::move(target).error();
  if (const auto descriptor = descriptor_behind(path)) return is_open_for_writing(*descriptor);
  struct stat status {};
  const bool exists = ::stat(path.c_str(), &status) == 0;
  if (exists && S_ISDIR(status.st_mode)) return Error{EISDIR, {}};
  if (!exists && errno == ENAMETOOLONG) return last_error();
  if (is_fixed(*target)) return Done{};
  if (exists && is_kept_by_sticky(*target)) return Error{EPERM, {}};
  const bool special = is_special(path);
  const std::string asked = special ? path : directory_of(*target);
  if (::access(asked.c_str(), special ? W_OK : W_OK | X_OK) != 0) return last_error();
  return Done{};
}

Result<Done> replace_contents(const std::string& path, const std::string& text) {
  auto target = behind_links(path);
  if (!target) return std::move(target).error();
  if (const auto descriptor = descriptor_behind(path)) return write_behind(*descriptor, text);
  if (is_special(path)) return append_to(path, text);
  if (is_fixed(*target)) return write_in_place(*target, text);
  // Not behind the name, which may be as long as a name can be.
  std::string beside = directory_of(*target) + "/.rlock-XXXXXX";
  const Fd file{::mkostemp(beside.data(), O_CLOEXEC)};  // mode 0600
  if (!file) return last_error();
  auto written = write_all(file, text);
  if (written && ::rename(beside.c_str(), target->c_str()) != 0) written = last_error();
  if (!written) ::unlink(beside.c_str());
  return written;
}

Result<Done> append_to(const std::string& path, const std::string& text) {
  // A pipe that nobody reads from is an error, and no reason to wait.
  constexpr int flags = O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;
  const Fd file{::open(path.c_str(), flags, 0600)};
  if (!file) return last_error();
  return write_all(file, text);
}

Result<Done> write_all(const Fd& file, std::string_view text) {
  const auto until = base::Deadline::after(base::now(), for_a_reader);
  while (!text.empty()) {
    const ssize_t size = ::write(file.number(), text.data(), text.size());
    if (size < 0 && errno == EINTR) continue;
    if (size < 0 && errno == EAGAIN &&
        wait_for(file.number(), Want::write, {until}) == Ready::yes) {
      continue;
    }
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
