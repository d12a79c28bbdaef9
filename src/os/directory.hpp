// A directory held by descriptor, and operations in it. Other users who can write to it may put
// anything there. So every name in it is one step, no step follows a link, and every file is
// checked after it is opened.
#pragma once

#include <sys/stat.h>
#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/clock.hpp"
#include "os/error.hpp"
#include "os/fd.hpp"
#include "os/resolve.hpp"

namespace os {

/// The users of files made in a directory: those with write permission there, so its owner, or its
/// group as well. umask(2) does not apply.
struct Sharing {
  enum class With { nobody, group };
  With with = With::nobody;
  /// Anybody can make names here and remove only their own (as in /tmp), so trust a directory in it
  /// only if we made it.
  bool is_sticky = false;
  uid_t owner = 0;  // receives the files that root makes there

  [[nodiscard]] unsigned file_mode() const { return with == With::group ? 0660 : 0600; }
  [[nodiscard]] unsigned directory_mode() const { return with == With::group ? 02770 : 0700; }
};

/// Copies share the open directory. An error with number 0 objects to what is there: its text names
/// the path and says what to do. Any thread.
class Directory {
 public:
  /// No directory: it contains nothing, and nothing can be made in it.
  Directory() = default;

  /// Opens the directory that the user names. Makes it and missing parents, for us alone. EPERM if
  /// everybody may remove what others made there.
  static Result<Directory> open(const std::string& path, Missing missing);
  /// Opens a directory of ours that no other user can write to.
  static Result<Directory> open_private(const std::string& path, Missing missing);

  /// Opens a subdirectory for the same users. In a group's directory any member may have made it,
  /// in another one only its owner or we, in a sticky one only we.
  [[nodiscard]] Result<Directory> below(const std::string& name, Missing missing) const;
  /// The same, for us alone.
  [[nodiscard]] Result<Directory> private_below(const std::string& name, Missing missing) const;

  /// Opens a regular file with a single link for reading and overwriting. EFBIG if it is longer
  /// than `most`.
  [[nodiscard]] Result<Fd> open_file(const std::string& name, Missing missing,
                                     std::size_t most) const;
  /// Up to `most` bytes of such a file. Read permission is enough.
  [[nodiscard]] Result<std::string> contents_of(const std::string& name, std::size_t most) const;
  /// Overwrites or makes such a file with one write(2): texts of one length replace each other as a
  /// whole, even on a full disk.
  [[nodiscard]] Result<Done> write_contents(const std::string& name, const std::string& text) const;
  /// Opens a named pipe of any owner and with any number of links, only to ask who locks it.
  [[nodiscard]] Result<Fd> open_any_pipe(const std::string& name) const;
  /// Opens a named pipe with a single link; `flags` are those of open(2).
  [[nodiscard]] Result<Fd> open_pipe(const std::string& name, int flags) const;
  /// Makes a named pipe and opens it for both directions.
  [[nodiscard]] Result<Fd> make_pipe(const std::string& name) const;

  [[nodiscard]] Result<Done> rename(const std::string& from, const std::string& to) const;
  /// Unlinks the name, if it exists and we may.
  void remove(const std::string& name) const;
  /// Removes the directory itself if it is empty; returns whether it is gone.
  [[nodiscard]] bool remove_itself() const;
  /// The directory from which this one was opened.
  [[nodiscard]] Directory above() const;

  /// Whether the name exists, as far as the kernel tells us.
  [[nodiscard]] bool has(const std::string& name) const;
  /// Whether the name is the open file's. An error: the kernel does not tell.
  [[nodiscard]] Result<bool> has(const std::string& name, const Fd& file) const;
  /// Calls `use` with every name, hidden ones included, in no order.
  [[nodiscard]] Result<Done> for_each_name(const std::function<void(std::string_view)>& use) const;
  /// Whether the directory is still at its path: not removed, renamed or replaced. An error: the
  /// kernel does not tell.
  [[nodiscard]] Result<bool> is_in_place() const;

  /// How long ago the file was last written to or touched, by the host's clock; nothing if it does
  /// not exist.
  [[nodiscard]] std::optional<base::Millis> unchanged_for(const std::string& name) const;
  /// Resets unchanged_for() to 0.
  void touch(const std::string& name) const;
  /// When a name in the directory was last made, changed or removed: ns since 1970, in the steps of
  /// the file system's clock, which may be ms or seconds. 0 if unknown.
  [[nodiscard]] std::uint64_t names_changed_at() const;

  /// For messages.
  [[nodiscard]] const std::string& path() const;
  [[nodiscard]] const Sharing& sharing() const;

  /// Opens a file or pipe that we have just made to the users who share the directory.
  void share(const Fd& made) const;

 private:
  struct Held;
  explicit Directory(Held held);
  static Result<std::pair<Directory, std::string>> parent_of(const std::string& path,
                                                             Missing missing);
  [[nodiscard]] int number() const;
  [[nodiscard]] Result<Fd> enter(const std::string& name) const;
  [[nodiscard]] Result<Done> make_below(const std::string& name) const;
  [[nodiscard]] bool is_unfinished(const struct stat& status, const std::string& name) const;
  [[nodiscard]] bool is_empty(const std::string& name) const;
  [[nodiscard]] bool is_unfinished(const Fd& file) const;
  [[nodiscard]] bool gives_away() const;
  /// Whether other users use what we make here.
  [[nodiscard]] bool shares() const;
  [[nodiscard]] Result<Fd> checked(Fd file, const std::string& name, mode_t kind,
                                   std::size_t most) const;
  /// The error of open(2), or the objection to what is there.
  [[nodiscard]] Error refusal(int error, const std::string& name) const;
  [[nodiscard]] Error not_as_made(const std::string& name, mode_t kind) const;
  [[nodiscard]] std::string path_of(const std::string& name) const;

  std::shared_ptr<const Held> held_;
};

/// Whether a directory at `path` is ours and no other user can write to it; nothing if it does not
/// exist.
std::optional<bool> is_private_directory(const std::string& path);

/// Writes with one write(2) at `offset`. Replaces the existing text as a whole, even on a full
/// disk, if that has this length and the length divides `offset` and the page size.
Result<Done> overwrite(const Fd& file, std::size_t offset, const std::string& text);

/// `status` is that of an open file.
base::Millis since_last_write(const struct stat& status);

}  // namespace os
