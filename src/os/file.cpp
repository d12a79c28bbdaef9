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

#include "os/host.hpp"
#include "os/in_place.hpp"
#include "os/objection.hpp"
#include "os/poll.hpp"
#include "os/resolve.hpp"

namespace os {
namespace {

// The time a full pipe gets: its reader is busy or stuck.
constexpr base::Millis for_a_reader{2'000};

/// An open file named by a path such as /dev/stdout, /dev/fd/7 or /proc/self/fd/1. Renaming another
/// file over it would take it away from all its writers.
struct Descriptor {
  std::string path;           // /proc/PID/fd/NUMBER
  std::optional<int> number;  // if it is our own
};

std::optional<Descriptor> descriptor_behind(std::string path) {
  constexpr int most_links = 40;  // the kernel's limit
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
  if (::faccessat(AT_FDCWD, descriptor.path.c_str(), W_OK, as_effective_user()) != 0) {
    return last_error();
  }
  return Done{};
}

/// Nothing can be made in a removed directory.
bool is_removed(const Fd& directory) {
  struct stat status {};
  return ::fstat(directory.number(), &status) == 0 && status.st_nlink == 0;
}

/// The descriptor that the path names; nothing if another user may have planted the link to it.
std::optional<Descriptor> descriptor_of(const Location& place, const std::string& path) {
  return place.is_magic ? descriptor_behind(path) : std::nullopt;
}

/// Reopens pipes and devices non-blocking, so that a slow reader cannot block us. Writes to a file
/// at the writers' offset; a socket cannot be reopened.
Result<Done> write_behind(const Descriptor& descriptor, const std::string& text) {
  struct stat kind {};
  if (::stat(descriptor.path.c_str(), &kind) != 0) return last_error();
  const bool as_it_is = S_ISREG(kind.st_mode) || S_ISSOCK(kind.st_mode);
  if (!descriptor.number || !as_it_is) return append_to(descriptor.path, text);
  const Fd same{::fcntl(*descriptor.number, F_DUPFD_CLOEXEC, 0)};
  if (!same) return last_error();
  return write_all(same, text);
}

/// Writes to a pipe or a device. If the name is another file's by now, leaves that file alone.
Result<Done> write_to_special(const Location& place, const std::string& text) {
  // A pipe without a reader is an error, not a reason to wait.
  const Fd file = place.open(O_WRONLY | O_APPEND | O_NONBLOCK | O_NOCTTY);
  struct stat status {};
  if (!file || ::fstat(file.number(), &status) != 0) return last_error();
  if (S_ISREG(status.st_mode)) return Error{EAGAIN, {}};
  return write_all(file, text);
}

}  // namespace

std::string directory_of(const std::string& path) {
  const auto slash = path.rfind('/');
  return slash == std::string::npos ? "." : path.substr(0, slash + 1);
}

Result<Done> for_each_name(const std::string& directory,
                           const std::function<void(std::string_view)>& use) {
  return for_each_name(Fd{::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)}, use);
}

Result<Done> for_each_name(Fd directory, const std::function<void(std::string_view)>& use) {
  if (!directory) return last_error();
  const std::unique_ptr<DIR, int (*)(DIR*)> open{::fdopendir(directory.number()), ::closedir};
  if (!open) return last_error();
  (void)directory.release();
  errno = 0;
  while (const dirent* each = ::readdir(open.get())) {
    use(&each->d_name[0]);
    errno = 0;
  }
  if (errno != 0) return last_error();
  return Done{};
}

Result<std::string> contents_of(const std::string& path, std::size_t most) {
  // Opening a named pipe would wait for its writer without end.
  const Fd file{::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)};
  struct stat status {};
  if (!file || ::fstat(file.number(), &status) != 0) return last_error();
  if (S_ISDIR(status.st_mode)) return Error{EISDIR, {}};
  if (!S_ISREG(status.st_mode)) return Error{EINVAL, {}};
  return contents_of(file, most);
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
  const auto place = resolve(path);
  if (!place) return place.error();
  if (const auto descriptor = descriptor_of(*place, path)) return is_open_for_writing(*descriptor);
  const auto status = place->status();
  if (!status && status.error().number != ENOENT) return status.error();
  if (status && S_ISDIR(status->st_mode)) return Error{EISDIR, {}};
  if (is_fixed(*place)) return Done{};
  if (is_kept_by_sticky(*place)) return Error{EPERM, {}};
  const bool in_place = status && (!S_ISREG(status->st_mode) || is_mount(*place));
  const char* asked = in_place ? place->name.c_str() : ".";
  const int how = in_place ? W_OK : W_OK | X_OK;
  if (!in_place && is_removed(place->directory)) return Error{ENOENT, {}};
  if (::faccessat(place->directory.number(), asked, how, as_effective_user()) != 0) {
    return last_error();
  }
  return Done{};
}

Result<Done> replace_contents(const std::string& path, const std::string& text) {
  const auto place = resolve(path);
  if (!place) return place.error();
  if (const auto descriptor = descriptor_of(*place, path)) return write_behind(*descriptor, text);
  const auto status = place->status();
  if (status && S_ISDIR(status->st_mode)) return Error{EISDIR, {}};
  if (status && !S_ISREG(status->st_mode)) return write_to_special(*place, text);
  if (is_fixed(*place)) return write_in_place(*place, text);
  // Not NAME plus a suffix: NAME may already have the maximum length.
  const std::string beside = ".rlock-" + random_hex(6);
  const int directory = place->directory.number();
  const Fd file{::openat(directory, beside.c_str(),
                         O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600)};
  if (!file) return last_error();
  auto written = write_all(file, text);
  // Replaces a link that was put there in the meantime; does not follow it.
  if (written && ::renameat(directory, beside.c_str(), directory, place->name.c_str()) != 0) {
    written = last_error();
  }
  if (!written) ::unlinkat(directory, beside.c_str(), 0);
  return written;
}

Result<Done> append_to(const std::string& path, const std::string& text) {
  // A pipe without a reader is an error, not a reason to wait.
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

}  // namespace os
