#include "os/ipc.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>

namespace os {

// ---- a lock for moments ----------------------------------------------------------------------

namespace {

// The pause between tries: about as long as a process holds the lock. Hundreds of processes may
// want the file, so each asks less and less often. That leaves the processor to the holder, and the
// next turn to a process that has something to finish.
constexpr base::Millis first_pause{1};
constexpr base::Millis longest_pause{32};

}  // namespace

Result<LockedFile> LockedFile::open(const Directory& directory, const std::string& name,
                                    Missing missing, const CallLimit& limit) {
  const bool create = missing == Missing::create;
  Fd fd;
  for (auto pause = first_pause;; pause = create ? std::min(pause * 2, longest_pause) : pause) {
    if (!fd) {
      auto opened = directory.open_file(name, missing, std::string::npos);
      if (!opened) return std::move(opened).error();
      fd = *std::move(opened);
    }
    if (::flock(fd.number(), LOCK_EX | LOCK_NB) == 0) {
      const auto in_place = directory.has(name, fd);
      if (!in_place) return in_place.error();
      if (*in_place) return LockedFile{std::move(fd)};
      fd = Fd{};  // removed before we locked it, perhaps made again
    } else if (errno != EWOULDBLOCK && errno != EINTR) {
      return last_error();
    }
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

// The capacity of a pipe (pipe(7)): a writer faster than us must not keep us here.
constexpr std::size_t most_pieces = 16;

/// A living owner holds the lock exclusively. Opening the pipe for reading would not tell: it
/// always succeeds.
bool owner_lives(const Fd& fd) {
  if (::flock(fd.number(), LOCK_SH | LOCK_NB) != 0) return true;
  check(::flock(fd.number(), LOCK_UN), "unlocking a pipe");
  return false;
}

}  // namespace

Result<NamedPipe> NamedPipe::create(const Directory& directory, const std::string& name) {
  const std::string beside = name + unfinished;
  // For both directions, so that it never hangs up because of ourselves.
  auto fd = directory.make_pipe(beside);
  if (!fd) return std::move(fd).error();
  if (::flock(fd->number(), LOCK_EX | LOCK_NB) != 0) return last_error();
  directory.share(*fd);
  if (auto renamed = directory.rename(beside, name); !renamed) return std::move(renamed).error();
  return NamedPipe{*std::move(fd), directory, name};
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
  // Lines are written at once, so a longer unfinished one is not a line.
  if (unfinished_.size() > longest_post) unfinished_.clear();
  return lines;
}

Result<bool> NamedPipe::in_place() const {
  const auto has_name = directory_.has(name_, fd_);
  return has_name && *has_name ? directory_.is_in_place() : has_name;
}

NamedPipe NamedPipe::duplicate() const {
  return {Fd{check(::fcntl(fd_.number(), F_DUPFD_CLOEXEC, 0), "duplicating a pipe")}, directory_,
          name_};
}

bool is_owned(const PipeName& pipe) {
  // A pipe that we would not write to, with a second name or of a stranger, may have a live owner.
  const auto fd = pipe.directory.open_any_pipe(pipe.name);
  if (fd) return owner_lives(*fd);
  // If we may not open it, it belongs to another user; do not declare it dead. A missing pipe, or a
  // pipe that is not rlock's, has no owner.
  const int error = fd.error().number;
  return error != 0 && error != ENOENT;
}

Fd watch_owner(const PipeName& pipe) {
  auto fd = pipe.directory.open_any_pipe(pipe.name);
  if (!fd || !owner_lives(*fd)) return {};
  return *std::move(fd);
}

std::optional<base::Millis> unread_for(const PipeName& pipe) {
  const auto fd = pipe.directory.open_pipe(pipe.name, O_RDONLY);
  int unread = 0;
  struct stat status {};
  if (!fd || ::ioctl(fd->number(), FIONREAD, &unread) != 0 || unread == 0) return std::nullopt;
  if (::fstat(fd->number(), &status) != 0) return std::nullopt;
  return since_last_write(status);
}

bool post(const PipeName& pipe, std::string line) {
  if (line.size() > longest_post) line.resize(longest_post);
  // Also a newline in front: another writer may have left half a line.
  line = '\n' + line + '\n';
  // Fails without a reader, as it should.
  const auto fd = pipe.directory.open_pipe(pipe.name, O_WRONLY);
  if (!fd) return false;
  return ::write(fd->number(), line.data(), line.size()) == static_cast<ssize_t>(line.size());
}

}  // namespace os
