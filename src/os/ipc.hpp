// What the processes of one host share in a directory: small files, locks on them, named pipes, and
// who may use them.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "os/error.hpp"
#include "os/fd.hpp"
#include "os/poll.hpp"

namespace os {

// ---- who may use it --------------------------------------------------------------------------

/// Who may use the files made in a directory: those who may write to the directory, its owner, or
/// its group as well. umask(2) has no say in it.
struct Sharing {
  enum class With { nobody, group };
  With with = With::nobody;
  /// Anybody can make names here, and take away only their own (as in /tmp): a directory in it is
  /// to be trusted only if we made it.
  bool is_sticky = false;
  uid_t owner = 0;  // to whom root gives the files that it makes there

  [[nodiscard]] unsigned file_mode() const { return with == With::group ? 0660 : 0600; }
  [[nodiscard]] unsigned directory_mode() const { return with == With::group ? 02770 : 0700; }
};

/// Of the directory `path`; makes one of our own, and what is missing above it, if `create`. EPERM
/// if everybody may remove there what others made.
Result<Sharing> sharing_in(const std::string& path, bool create);

/// Makes a directory, if there is none, for the same.
Result<Done> make_directory(const std::string& path, const Sharing& sharing);

/// A directory of ours that no other user can write to; makes one if there is none and `create`.
/// EPERM if another user made it.
Result<Done> private_directory(const std::string& path, bool create);

/// Writes a file in place, with one write(2), over what is there: texts of one length replace each
/// other whole, also on a full disk. It is for those of `sharing`.
Result<Done> write_contents(const std::string& path, const std::string& text,
                            const Sharing& sharing);

enum class Missing { create, give_up };
/// A regular file for those of `sharing`, to read and to overwrite. ENOENT if there is none and
/// none was to be made.
Result<Fd> open_shared(const std::string& path, Missing missing, const Sharing& sharing);
/// With one write(2) at `offset`. What is there already is replaced whole, also on a full disk, if
/// it has this length, which divides `offset` and the size of a page.
Result<Done> overwrite(const Fd& file, std::size_t offset, const std::string& text);

/// How long ago the file was last written to or touched, by the host's clock; nothing if there is
/// none.
std::optional<base::Millis> unchanged_for(const std::string& path);
/// Makes that 0.
void touch(const std::string& path);
/// When a name was last made, changed or taken away in a directory: ns since 1970, as its file
/// system counts, which may be steps of ms or of seconds. 0 if that cannot be told.
std::uint64_t names_changed_at(const std::string& directory);

// ---- a lock for moments ----------------------------------------------------------------------

/// A file, locked exclusively (flock(2)) until this is destroyed; it can be read and overwritten
/// meanwhile. Close-on-exec.
class LockedFile {
 public:
  /// A file that is made is for those of `sharing`. EAGAIN or EINTR if limit ended, ENOENT if there
  /// is none and none was to be made. No process holds it for longer than some system calls take,
  /// unless it was stopped in them.
  static Result<LockedFile> open(const std::string& path, Missing missing, const Sharing& sharing,
                                 const CallLimit& limit);

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
  /// Makes it for those of `sharing`, and owns it; it has its name when all of that is so, and
  /// `unfinished` after it until then.
  static Result<NamedPipe> create(const std::string& path, const Sharing& sharing);

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

/// Whether a process owns the pipe at `path`.
bool is_owned(const std::string& path);
/// A descriptor that hangs up (POLLHUP) when its owner is gone; an empty one if it has none.
Fd watch_owner(const std::string& path);
/// For how long its owner has left unread what was posted to it; nothing if nothing is there.
std::optional<base::Millis> unread_for(const std::string& path);
/// Leaves a line (at most `longest_post` bytes of it) to the owner; says whether it is there now.
/// Never blocks; a pipe that is full or has no owner swallows it.
bool post(const std::string& path, std::string line);
/// POSIX has pipes take 512 bytes at once or not at all; Linux 4096.
inline constexpr std::size_t longest_post = 2000;

}  // namespace os
