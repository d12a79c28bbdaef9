#include "os/ipc.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <ctime>

#include "os/file.hpp"

namespace os {
namespace {

constexpr unsigned ours_alone = 0700;
constexpr mode_t private_mode = 0600;

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
Result<Done> make_with_parents(const std::string& path) {
  auto made = make_directory(path, {});
  if (made || made.error().number != ENOENT) return made;
  const auto slash = path.find_last_not_of('/') == path.npos
                         ? path.npos
                         : path.rfind('/', path.find_last_not_of('/'));
  if (slash == path.npos || slash == 0) return made;
  if (auto above = make_with_parents(path.substr(0, slash)); !above) return above;
  return make_directory(path, {});
}

/// A file that was just made becomes one for those of `sharing`.
void share(const Fd& fd, const Sharing& sharing) {
  // Fails where another user made it, whose mode then counts.
  (void)::fchmod(fd.number(), sharing.file_mode());
  struct stat status {};
  // With a second name it may be something else that was put there.
  const bool ours = ::fstat(fd.number(), &status) == 0 && status.st_nlink == 1;
  if (ours && is_to_be_given(sharing)) (void)!::fchown(fd.number(), sharing.owner, ~gid_t{0});
}

base::Millis since_last_write(const struct stat& status) {
  // A file's time is of the wall clock.
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  const auto seconds = std::chrono::seconds{now.tv_sec - status.st_mtim.tv_sec};
  const auto rest = std::chrono::nanoseconds{now.tv_nsec - status.st_mtim.tv_nsec};
  return std::chrono::duration_cast<base::Millis>(seconds + rest);
}

}  // namespace

Result<Done> make_directory(const std::string& path, const Sharing& sharing) {
  const bool made = ::mkdir(path.c_str(), ours_alone) == 0;
  if (!made && errno != EEXIST) return last_error();
  if (!made && !is_unfinished(path, sharing)) return Done{};
  const bool give = is_to_be_given(sharing);
  if (give && ::chown(path.c_str(), sharing.owner, ~gid_t{0}) != 0) return last_error();
  if (::chmod(path.c_str(), sharing.directory_mode()) != 0) return last_error();
  return Done{};
}

Result<Sharing> sharing_in(const std::string& path, bool create) {
  if (create) {
    if (auto made = make_with_parents(path); !made) return std::move(made).error();
  }
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) return last_error();
  if (!S_ISDIR(status.st_mode)) return Error{ENOTDIR, {}};
  if ((status.st_mode & S_ISVTX) != 0) return Sharing{Sharing::With::nobody, true, status.st_uid};
  if ((status.st_mode & S_IWOTH) != 0) return Error{EPERM, {}};
  const bool group = (status.st_mode & S_IWGRP) != 0;
  return Sharing{group ? Sharing::With::group : Sharing::With::nobody, false, status.st_uid};
}

Result<Done> private_directory(const std::string& path, bool create) {
  if (create && ::mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) return last_error();
  struct stat status {};
  if (::lstat(path.c_str(), &status) != 0) return last_error();
  const bool ours = S_ISDIR(status.st_mode) && status.st_uid == ::geteuid();
  if (!ours || (status.st_mode & 022) != 0) return Error{EPERM, {}};
  return Done{};
}

Result<Done> write_contents(const std::string& path, const std::string& text,
                            const Sharing& sharing) {
  const Fd file{::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, private_mode)};
  if (!file) return last_error();
  share(file, sharing);
  return write_all(file, text);
}

Result<Fd> open_shared(const std::string& path, Missing missing, const Sharing& sharing) {
  // A named pipe in its place must not hold us up.
  constexpr int flags = O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;
  Fd file{::open(path.c_str(), flags)};
  const bool make = !file && errno == ENOENT && missing == Missing::create;
  if (make) file = Fd{::open(path.c_str(), flags | O_CREAT, private_mode)};
  if (!file) return last_error();
  if (make) share(file, sharing);
  struct stat status {};
  if (::fstat(file.number(), &status) != 0) return last_error();
  if (!S_ISREG(status.st_mode)) return Error{EINVAL, {}};
  return file;
}

Result<Done> overwrite(const Fd& file, std::size_t offset, const std::string& text) {
  const auto wrote = ::pwrite(file.number(), text.data(), text.size(), static_cast<off_t>(offset));
  if (wrote < 0) return last_error();
  if (static_cast<std::size_t>(wrote) != text.size()) return Error{ENOSPC, {}};
  return Done{};
}

std::optional<base::Millis> unchanged_for(const std::string& path) {
  struct stat status {};
  if (::lstat(path.c_str(), &status) != 0) return std::nullopt;
  return std::max(since_last_write(status), base::Millis{0});
}

void touch(const std::string& path) {
  (void)::utimensat(AT_FDCWD, path.c_str(), nullptr, AT_SYMLINK_NOFOLLOW);
}

std::uint64_t names_changed_at(const std::string& directory) {
  struct stat status {};
  if (::stat(directory.c_str(), &status) != 0) return 0;
  const auto since = std::chrono::seconds{status.st_mtim.tv_sec} +
                     std::chrono::nanoseconds{status.st_mtim.tv_nsec};
  return static_cast<std::uint64_t>(std::max(since.count(), decltype(since.count()){0}));
}

// ---- a lock for moments ----------------------------------------------------------------------

namespace {

// Between tries: about as long as it is held. Those who would make the file come by the hundred;
// they ask less and less often, which leaves the processor to the holder of the lock, and the next
// turn to a process that has something to finish.
constexpr base::Millis first_pause{1};
constexpr base::Millis longest_pause{32};

}  // namespace

Result<LockedFile> LockedFile::open(const std::string& path, Missing missing,
                                    const Sharing& sharing, const CallLimit& limit) {
  const bool create = missing == Missing::create;
  const int flags = O_RDWR | O_CLOEXEC | O_NOFOLLOW | (create ? O_CREAT : 0);
  Fd fd;
  for (auto pause = first_pause;; pause = create ? std::min(pause * 2, longest_pause) : pause) {
    if (!fd) {
      fd = Fd{::open(path.c_str(), flags, private_mode)};
      if (!fd) return last_error();
      if (create) share(fd, sharing);
    }
    if (::flock(fd.number(), LOCK_EX | LOCK_NB) == 0) {
      if (is_at(path, fd)) return LockedFile{std::move(fd)};
      fd = Fd{};  // removed before we had it, and perhaps made anew
      continue;
    }
    if (errno != EWOULDBLOCK && errno != EINTR) return last_error();
    const CallLimit a_while = limit.at_most(base::Deadline::after(base::now(), pause));
    const bool interrupted = wait_for(-1, Want::read, a_while) == Ready::interrupted;
    if (interrupted) return Error{EINTR, {}};
    if (limit.until.passed(base::now())) return Error{EAGAIN, {}};
  }
}

Result<std::string> LockedFile::text(std::size_t most) const {
  std::string text(most, '\0');
  const auto got = ::pread(fd_.number(), text.data(), text.size(), 0);
  if (got < 0) return last_error();
  text.resize(static_cast<std::size_t>(got));
  return text;
}

Result<Done> LockedFile::overwrite(const std::string& text) const {
  if (::pwrite(fd_.number(), text.data(), text.size(), 0) < 0) return last_error();
  return Done{};
}

// ---- named pipes -----------------------------------------------------------------------------

namespace {

// What a pipe holds (pipe(7)): a writer that is faster than we read must not keep us here.
constexpr std::size_t most_pieces = 16;

Fd open_pipe(const std::string& path, int flags) {
  return Fd{::open(path.c_str(), flags | O_NONBLOCK | O_CLOEXEC | O_NOFOLLOW)};
}

/// The owner holds the lock exclusively as long as it lives. Opening a pipe for reading would not
/// tell: it always succeeds.
bool owner_lives(const Fd& fd) {
  if (::flock(fd.number(), LOCK_SH | LOCK_NB) != 0) return true;
  check(::flock(fd.number(), LOCK_UN), "unlocking a pipe");
  return false;
}

}  // namespace

Result<NamedPipe> NamedPipe::create(const std::string& path, const Sharing& sharing) {
  const std::string beside = path + unfinished;
  if (::mkfifo(beside.c_str(), private_mode) != 0) return last_error();
  // For both directions: so it never hangs up on ourselves.
  Fd fd = open_pipe(beside, O_RDWR);
  if (!fd || ::flock(fd.number(), LOCK_EX | LOCK_NB) != 0) return last_error();
  share(fd, sharing);
  if (::rename(beside.c_str(), path.c_str()) != 0) return last_error();
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

std::optional<base::Millis> unread_for(const std::string& path) {
  const Fd fd = open_pipe(path, O_RDONLY);
  int unread = 0;
  struct stat status {};
  if (!fd || ::ioctl(fd.number(), FIONREAD, &unread) != 0 || unread == 0) return std::nullopt;
  if (::fstat(fd.number(), &status) != 0) return std::nullopt;
  return since_last_write(status);
}

bool post(const std::string& path, std::string line) {
  if (line.size() > longest_post) line.resize(longest_post);
  // Its own beginning as well: another writer may have left half a line.
  line = '\n' + line + '\n';
  // Without a reader this fails, and so it should.
  const Fd fd = open_pipe(path, O_WRONLY);
  if (!fd) return false;
  return ::write(fd.number(), line.data(), line.size()) == static_cast<ssize_t>(line.size());
}

}  // namespace os
