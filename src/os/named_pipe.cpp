#include "os/named_pipe.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <array>
#include <cerrno>

#include "os/check.hpp"

namespace os {
namespace {

// umask(2) takes away what others must not have.
constexpr mode_t mode = 0666;

Fd open_pipe(const std::string& path, int flags) {
  return Fd{::open(path.c_str(), flags | O_NONBLOCK | O_CLOEXEC | O_NOFOLLOW)};
}

/// The owner holds the lock exclusively as long as it lives. Opening a pipe for reading succeeds
/// whoever is at its other end, and would not tell.
bool owner_lives(const Fd& fd) {
  if (::flock(fd.number(), LOCK_SH | LOCK_NB) != 0) return true;
  check(::flock(fd.number(), LOCK_UN), "unlocking a pipe");
  return false;
}

}  // namespace

std::optional<NamedPipe> NamedPipe::create(const std::string& path) {
  if (::mkfifo(path.c_str(), mode) != 0) return std::nullopt;
  // For both directions: so it never hangs up on ourselves.
  Fd fd = open_pipe(path, O_RDWR);
  if (!fd || ::flock(fd.number(), LOCK_EX | LOCK_NB) != 0) return std::nullopt;
  return NamedPipe{std::move(fd), path};
}

std::vector<std::string> NamedPipe::take() {
  std::array<char, 4096> buffer{};
  for (;;) {
    const auto got = ::read(fd_.number(), buffer.data(), buffer.size());
    if (got <= 0) break;
    unfinished_.append(buffer.data(), static_cast<std::size_t>(got));
  }
  std::vector<std::string> lines;
  for (auto end = unfinished_.find('\n'); end != std::string::npos; end = unfinished_.find('\n')) {
    lines.push_back(unfinished_.substr(0, end));
    unfinished_.erase(0, end + 1);
  }
  return lines;
}

bool NamedPipe::in_place() const {
  struct stat ours {};
  struct stat there {};
  check(::fstat(fd_.number(), &ours), "looking at a pipe");
  return ::lstat(path_.c_str(), &there) == 0 && ours.st_ino == there.st_ino &&
         ours.st_dev == there.st_dev;
}

NamedPipe NamedPipe::duplicate() const {
  return {Fd{check(::fcntl(fd_.number(), F_DUPFD_CLOEXEC, 0), "duplicating a pipe")}, path_};
}

bool is_owned(const std::string& path) {
  const Fd fd = open_pipe(path, O_RDONLY);
  // What we may not open is another user's, and not ours to call dead.
  return fd ? owner_lives(fd) : errno != ENOENT;
}

Fd watch_owner(const std::string& path) {
  Fd fd = open_pipe(path, O_RDONLY);
  if (!fd || !owner_lives(fd)) return {};
  return fd;
}

void post(const std::string& path, std::string line) {
  if (line.size() > longest_post) line.resize(longest_post);
  line += '\n';
  // Without a reader this fails, and so it should.
  const Fd fd = open_pipe(path, O_WRONLY);
  if (fd) (void)!::write(fd.number(), line.data(), line.size());
}

}  // namespace os
