// Objects in a directory that the processes of one host share: locks on a file, and named pipes.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "os/directory.hpp"
#include "os/error.hpp"
#include "os/fd.hpp"
#include "os/poll.hpp"

namespace os {

// ---- a lock for moments ----------------------------------------------------------------------

/// A file that is locked exclusively (flock(2)) until destruction, and can be read and overwritten.
/// Close-on-exec.
class LockedFile {
 public:
  /// EAGAIN or EINTR if the limit ended, ENOENT if the file does not exist and must not be made. A
  /// process holds the lock only for a few system calls, unless it is stopped in them.
  static Result<LockedFile> open(const Directory& directory, const std::string& name,
                                 Missing missing, const CallLimit& limit);

  /// Up to `most` bytes of the file.
  [[nodiscard]] Result<std::string> text(std::size_t most) const;
  /// Overwrites with one write: texts of one length replace each other as a whole.
  [[nodiscard]] Result<Done> overwrite(const std::string& text) const;

 private:
  explicit LockedFile(Fd fd) : fd_{std::move(fd)} {}
  Fd fd_;
};

// ---- named pipes -----------------------------------------------------------------------------

/// A named pipe (fifo(7)) that one process owns, as its mailbox and as a sign of life. The kernel
/// closes it when its owner ends, for whatever reason, and wakes the processes that watch it; no
/// server is involved. Any thread, one at a time.
class NamedPipe {
 public:
  /// Makes the pipe and owns it. Until it is ready, its name ends in `unfinished`.
  static Result<NamedPipe> create(const Directory& directory, const std::string& name);

  /// Readable while take() has lines.
  [[nodiscard]] int descriptor() const { return fd_.number(); }
  /// The lines posted since the last call. Never blocks.
  std::vector<std::string> take();
  /// Whether the pipe and its directory are still at their paths. An error: the kernel does not
  /// tell.
  [[nodiscard]] Result<bool> in_place() const;
  /// Another handle to the same pipe, which is owned until all of them are gone.
  [[nodiscard]] NamedPipe duplicate() const;

  static constexpr const char* unfinished = ".new";

 private:
  NamedPipe(Fd fd, Directory directory, std::string name)
      : fd_{std::move(fd)}, directory_{std::move(directory)}, name_{std::move(name)} {}

  Fd fd_;
  Directory directory_;
  std::string name_;
  std::string unfinished_;  // a line whose end has not arrived
};

/// The pipe of any process.
struct PipeName {
  const Directory& directory;
  std::string name;
};

/// Whether a process owns the pipe.
bool is_owned(const PipeName& pipe);
/// A descriptor that hangs up (POLLHUP) when the owner is gone; an empty one if there is no owner.
Fd watch_owner(const PipeName& pipe);
/// For how long the owner has left posted lines unread; nothing if there are none.
std::optional<base::Millis> unread_for(const PipeName& pipe);
/// Posts a line (at most `longest_post` bytes of it) to the owner; returns whether it is in the
/// pipe. Never blocks: if the pipe is full or has no owner, the line is lost.
bool post(const PipeName& pipe, std::string line);
/// The size that a pipe takes at once or not at all is 512 bytes in POSIX, 4096 on Linux.
inline constexpr std::size_t longest_post = 2000;

}  // namespace os
