// A named pipe that one process owns: its mailbox, and the sign that it lives.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "os/fd.hpp"
#include "os/sharing.hpp"

namespace os {

/// fifo(7). The kernel closes it with its owner's last breath, however that came: whoever watch()es
/// it is told at once, and nobody has to be asked. Any thread, one at a time.
class NamedPipe {
 public:
  /// Makes it for those of `sharing`, and owns it; it has its name when all of that is so, and
  /// `unfinished` after it until then. Nothing, with errno set, if that cannot be.
  static std::optional<NamedPipe> create(const std::string& path, const Sharing& sharing);

  /// Readable when take() has something to say.
  [[nodiscard]] int descriptor() const { return fd_.number(); }
  /// The lines that were posted meanwhile. Never blocks.
  std::vector<std::string> take();
  /// Whether it is still the one at its path.
  [[nodiscard]] bool in_place() const;
  /// Another handle to the same pipe. It is owned until all of them are gone.
  [[nodiscard]] NamedPipe duplicate() const;

  static constexpr const char* unfinished = ".new";

 private:
  NamedPipe(Fd fd, std::string path) : fd_{std::move(fd)}, path_{std::move(path)} {}

  Fd fd_;
  std::string path_;
  std::string unfinished_;  // a line of which the rest has not come
};

/// Whether somebody owns the pipe at `path`.
bool is_owned(const std::string& path);
/// A descriptor that hangs up (POLLHUP) when its owner is gone; nothing if nobody owns it.
Fd watch_owner(const std::string& path);
/// Leaves a line (at most `longest_post` bytes of it) to the owner. Never blocks; a pipe that is
/// full or that nobody owns swallows it.
void post(const std::string& path, std::string line);
/// POSIX has pipes take 512 bytes at once or not at all; Linux 4096.
inline constexpr std::size_t longest_post = 2000;

}  // namespace os
