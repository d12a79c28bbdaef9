// What the processes of one host share in a directory: locks on a file of it, and named pipes.
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

/// A file, locked exclusively (flock(2)) until this is destroyed; it can be read and overwritten
/// meanwhile. Close-on-exec.
class LockedFile {
 public:
  /// EAGAIN or EINTR if limit ended, ENOENT if there is none and none was to be made. No process
  /// holds it for longer than some system calls take, unless it was stopped in them.
  static Result<LockedFile> open(const Directory& directory, const std::string& name,
                                 Missing missing, const CallLimit& limit);

  /// Up to `most` bytes of it.
  [[nodiscard]] Result<std::string> text(std::size_t most) const;
  /// In one write, over what is there: texts of one length replace each other whole.
  [[nodiscard]] Result<Done> overwrite(const std::string& text) const;

 private:
  explicit LockedFile(Fd fd) : fd_{std::move(fd)} {}
  Fd fd_;
};

// ---- named pipes -----------------------------------------------------------------------------

/// A named pipe (fifo(7)) that one process owns: its mailbox, and the sign that it lives. The
/// kernel closes it when its owner ends, however that comes: a process that watches it is told at
/// once, and no server is asked. Any thread, one at a time.
class NamedPipe {
 public:
  /// Makes it, and owns it; it has its name when all of that is so, and `unfinished` after it until
  /// then.
  static Result<NamedPipe> create(const Directory& directory, const std::string& name);

  /// Readable when take() has something to say.
  [[nodiscard]] int descriptor() const { return fd_.number(); }
  /// The lines that were posted meanwhile. Never blocks.
  std::vector<std::string> take();
  /// Whether it is still the one at its path, and the directory at its own.
  [[nodiscard]] bool in_place() const;
  /// Another handle to the same pipe. It is owned until all of them are gone.
  [[nodiscard]] NamedPipe duplicate() const;

  static constexpr const char* unfinished = ".new";

 private:
  NamedPipe(Fd fd, Directory directory, std::string name)
      : fd_{std::move(fd)}, directory_{std::move(directory)}, name_{std::move(name)} {}

  Fd fd_;
  Directory directory_;
  std::string name_;
  std::string unfinished_;  // a line of which the rest has not come
};

/// The pipe of another process, or of ours.
struct PipeName {
  const Directory& directory;
  std::string name;
};

/// Whether a process owns the pipe.
bool is_owned(const PipeName& pipe);
/// A descriptor that hangs up (POLLHUP) when its owner is gone; an empty one if it has none.
Fd watch_owner(const PipeName& pipe);
/// For how long its owner has left unread what was posted to it; nothing if nothing is there.
std::optional<base::Millis> unread_for(const PipeName& pipe);
/// Leaves a line (at most `longest_post` bytes of it) to the owner; says whether it is there now.
/// Never blocks; a pipe that is full or has no owner swallows it.
bool post(const PipeName& pipe, std::string line);
/// POSIX has pipes take 512 bytes at once or not at all; Linux 4096.
inline constexpr std::size_t longest_post = 2000;

}  // namespace os
