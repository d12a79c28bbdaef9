// A directory that is held by descriptor, and what may be done in it. Whoever may write to it can
// put anything there; so every name in it is one step, no step follows a link, and every file is
// looked at once it is open.
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

/// Copies are of the same open directory. An error with the number 0 is an objection to what is
/// there: its text names the path and says what to do. Any thread.
class Directory {
 public:
  /// None: nothing is in it, and nothing can be made in it.
  Directory() = default;

  /// The one that the user names. It is made, with what is missing above it, for us alone. EPERM if
  /// everybody may remove there what others made.
  static Result<Directory> open(const std::string& path, Missing missing);
  /// One of ours that no other user can write to.
  static Result<Directory> open_private(const std::string& path, Missing missing);

  /// Below this one, for the same users. In a group's directory any member may have made it, in
  /// another one only its owner or we, in a sticky one only we.
  [[nodiscard]] Result<Directory> below(const std::string& name, Missing missing) const;
  /// The same, of ours alone.
  [[nodiscard]] Result<Directory> private_below(const std::string& name, Missing missing) const;

  /// A regular file without another name, to read and to overwrite. EFBIG if it is longer than
  /// `most`.
  [[nodiscard]] Result<Fd> open_file(const std::string& name, Missing missing,
                                     std::size_t most) const;
  /// Up to `most` bytes of such a file, which may be one that we may only read.
  [[nodiscard]] Result<std::string> contents_of(const std::string& name, std::size_t most) const;
  /// Overwrites such a file with one write(2), or makes it: texts of one length replace each other
  /// whole, also on a full disk.
  [[nodiscard]] Result<Done> write_contents(const std::string& name, const std::string& text) const;
  /// A named pipe without another name; `flags` of open(2).
  [[nodiscard]] Result<Fd> open_pipe(const std::string& name, int flags) const;
  /// Makes one, and opens it for both directions.
  [[nodiscard]] Result<Fd> make_pipe(const std::string& name) const;

  [[nodiscard]] Result<Done> rename(const std::string& from, const std::string& to) const;
  /// Unlinks it, if it is there and that is allowed.
  void remove(const std::string& name) const;
  /// The directory itself, if it is empty; says whether it is gone.
  [[nodiscard]] bool remove_itself() const;
  /// The directory that it was opened from.
  [[nodiscard]] Directory above() const;

  /// Whether it is there, as far as we are told.
  [[nodiscard]] bool has(const std::string& name) const;
  /// Whether that name is the open file's.
  [[nodiscard]] bool has(const std::string& name, const Fd& file) const;
  /// Calls `use` with every name, hidden ones too, in no order.
  [[nodiscard]] Result<Done> for_each_name(const std::function<void(std::string_view)>& use) const;
  /// Whether the directory is still at its path: nobody removed, renamed or replaced it.
  [[nodiscard]] bool is_in_place() const;

  /// How long ago the file was last written to or touched, by the host's clock; nothing if there is
  /// none.
  [[nodiscard]] std::optional<base::Millis> unchanged_for(const std::string& name) const;
  /// Makes that 0.
  void touch(const std::string& name) const;
  /// When a name in it was last made, changed or taken away: ns since 1970, as its file system
  /// counts, which may be steps of ms or of seconds. 0 if that cannot be told.
  [[nodiscard]] std::uint64_t names_changed_at() const;

  /// For messages.
  [[nodiscard]] const std::string& path() const;
  [[nodiscard]] const Sharing& sharing() const;

  /// A file or pipe that we have just made becomes one for those who share the directory.
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
  /// Whether others use what we make here.
  [[nodiscard]] bool shares() const;
  [[nodiscard]] Result<Fd> checked(Fd file, const std::string& name, mode_t kind,
                                   std::size_t most) const;
  /// What open(2) refused, or the objection to what is there.
  [[nodiscard]] Error refusal(int error, const std::string& name) const;
  [[nodiscard]] Error not_as_made(const std::string& name, mode_t kind) const;
  [[nodiscard]] std::string path_of(const std::string& name) const;

  std::shared_ptr<const Held> held_;
};

/// Whether a directory is there that is ours and that no other user can write to; nothing if
/// nothing is there.
std::optional<bool> is_private_directory(const std::string& path);

/// With one write(2) at `offset`. What is there already is replaced whole, also on a full disk, if
/// it has this length, which divides `offset` and the size of a page.
Result<Done> overwrite(const Fd& file, std::size_t offset, const std::string& text);

/// Of an open file.
base::Millis since_last_write(const struct stat& status);

}  // namespace os
