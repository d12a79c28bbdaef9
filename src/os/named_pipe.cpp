#include "os/named_pipe.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <array>
#include <cerrno>
#include <cstdio>

#include "os/check.hpp"
#include "os/file.hpp"
#include "os/sharing.hpp"

namespace os {
namespace {

constexpr mode_t private_mode = 0600;
// What a pipe holds (pipe(7)): whoever writes faster than we read must not keep us here.
constexpr std::size_t most_pieces = 16;

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

std::optional<NamedPipe> NamedPipe::create(const std::string& path, const Sharing& sharing) {
  const std::string beside = path + unfinished;
  if (::mkfifo(beside.c_str(), private_mode) != 0) return std::nullopt;
  // For both directions: so it never hangs up on ourselves.
  Fd fd = open_pipe(beside, O_RDWR);
  if (!fd || ::flock(fd.number(), LOCK_EX | LOCK_NB) != 0) return std::nullopt;
  share(fd, sharing);
  if (::rename(beside.c_str(), path.c_str()) != 0) return std::nullopt;
  return NamedPipe{std::move(fd), path};
}

std::vector<std::string> NamedPipe::take() {
  std::array<char, 4096> buffer{};
  for (std::size_t piece = 0; piece < most_pieces; ++piece) {
    const auto got = ::read(fd_.number(), buffer.data(), buffer.size());
    if (got <= 0) break;
    unfinished_.append(buffer.data(), static_cast<std::size_t>(got));
  }
  std::vector<std::string> lines;
  for (auto end = unfinished_.find('\n'); end != std::string::npos; end = unfinished_.find('\n')) {
    if (end > 0) lines.push_back(unfinished_.substr(0, end));
    unfinished_.erase(0, end + 1);
  }
  // A line was written at once, so what has grown so long without an end is none.
  if (unfinished_.size() > longest_post) unfinished_.clear();
  return lines;
}

bool NamedPipe::in_place() const {
  return is_at(path_, fd_);
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
  // Its own beginning as well: somebody may have left half a line.
  line = '\n' + line + '\n';
  // Without a reader this fails, and so it should.
  const Fd fd = open_pipe(path, O_WRONLY);
  if (fd) (void)!::write(fd.number(), line.data(), line.size());
}

}  // namespace os
