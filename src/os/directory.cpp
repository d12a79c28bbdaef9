#include "os/directory.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <ctime>

#include "base/text.hpp"
#include "os/file.hpp"
#include "os/objection.hpp"

namespace os {
namespace {

constexpr mode_t private_mode = 0600;
constexpr int as_directory = O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
constexpr int to_list = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
// A named pipe in the place of a file must not block us.
constexpr int as_file = O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
// Other runs of ours may make, use and remove a directory at the same time.
constexpr int most_tries = 5;
constexpr gid_t same_group = ~gid_t{0};

Sharing sharing_of(const struct stat& status) {
  const bool is_sticky = (status.st_mode & S_ISVTX) != 0;
  const bool is_groups = !is_sticky && (status.st_mode & S_IWGRP) != 0;
  return {is_groups ? Sharing::With::group : Sharing::With::nobody, is_sticky, status.st_uid};
}

bool is_private(const struct stat& status) {
  return status.st_uid == ::geteuid() && (status.st_mode & others_write) == 0;
}

Error not_private(const struct stat& status, const std::string& path) {
  if (status.st_uid == ::geteuid()) {
    return object("{}: others may write there: chmod go-w {}", base::printable(path),
                  to_type(path));
  }
  return object(
      "{}: it belongs to user {}, not to you: have root remove it, or name a directory of your own "
      "(-S file:///DIRECTORY)",
      base::printable(path), status.st_uid);
}

bool is_same(const struct stat& one, const struct stat& other) {
  return one.st_ino == other.st_ino && one.st_dev == other.st_dev;
}

/// After a failed stat(2): false if nothing has that name. Other errors do not tell.
Result<bool> false_if_missing() {
  if (errno == ENOENT || errno == ENOTDIR) return false;
  return last_error();
}

}  // namespace

struct Directory::Held {
  Fd fd;  // O_PATH
  std::string path;
  Sharing sharing{};
  Directory above{};
  std::string name{};  // in the directory above, if opened from there
};

Directory::Directory(Held held) : held_{std::make_shared<const Held>(std::move(held))} {}

int Directory::number() const {
  return held_ ? held_->fd.number() : -1;
}

const std::string& Directory::path() const {
  static const std::string none;
  return held_ ? held_->path : none;
}

const Sharing& Directory::sharing() const {
  static const Sharing none;
  return held_ ? held_->sharing : none;
}

Directory Directory::above() const {
  return held_ ? held_->above : Directory{};
}

std::string Directory::path_of(const std::string& name) const {
  return (path().ends_with('/') ? path() : path() + "/") + name;
}

// ---- directories -----------------------------------------------------------------------------

/// The directory that contains a path's last name, and that name.
Result<std::pair<Directory, std::string>> Directory::parent_of(const std::string& path,
                                                               Missing missing) {
  auto location = resolve(path, missing);
  if (!location) {
    auto error = std::move(location).error();
    if (error.number == 0) error.what = base::printable(path) + ": " + error.what;
    return error;
  }
  return std::pair{Directory{Held{std::move(location->directory), directory_of(location->path)}},
                   std::move(location->name)};
}

Result<Directory> Directory::open(const std::string& path, Missing missing) {
  const auto parent = parent_of(path, missing);
  if (!parent) return parent.error();
  const auto& [above, name] = *parent;
  if (missing == Missing::create && name != ".") {
    if (auto made = make_private(above.held_->fd, name); !made && made.error().number != EEXIST) {
      return std::move(made).error();
    }
  }
  auto fd = above.enter(name);
  if (!fd) return std::move(fd).error();
  struct stat status {};
  if (::fstat(fd->number(), &status) != 0) return last_error();
  const Sharing sharing = sharing_of(status);
  if (!sharing.is_sticky && (status.st_mode & S_IWOTH) != 0) return Error{EPERM, {}};
  return Directory{Held{*std::move(fd), path, sharing}};
}

Result<Directory> Directory::open_private(const std::string& path, Missing missing) {
  // The last name must not be a link, not even one of ours.
  const auto parent = parent_of(directory_of(path) + "/.", Missing::give_up);
  if (!parent) return parent.error();
  return parent->first.private_below(path.substr(path.rfind('/') + 1), missing);
}

Result<Fd> Directory::enter(const std::string& name) const {
  Fd fd{::openat(number(), name.c_str(), as_directory)};
  if (!fd) return refusal(errno, name);
  return fd;
}

bool Directory::gives_away() const {
  // If root crashed, its files in a user's directory would block the user for ever.
  return ::geteuid() == 0 && sharing().owner != 0 && !sharing().is_sticky;
}

bool Directory::shares() const {
  return sharing().with == Sharing::With::group || gives_away();
}

bool Directory::is_empty(const std::string& name) const {
  Fd fd{::openat(number(), name.c_str(), to_list)};
  if (!fd) return false;
  bool is_empty = true;
  const auto listed = os::for_each_name(std::move(fd), [&](std::string_view each) {
    is_empty = is_empty && (each == "." || each == "..");
  });
  return listed && is_empty;
}

/// Whether we made the entry and were killed before the users who share the directory could use it.
bool Directory::is_unfinished(const struct stat& status, const std::string& name) const {
  return shares() && status.st_uid == ::geteuid() && (status.st_mode & permissions) == ours_alone &&
         is_empty(name);
}

bool Directory::is_unfinished(const Fd& file) const {
  struct stat status {};
  return shares() && ::fstat(file.number(), &status) == 0 && S_ISREG(status.st_mode) &&
         status.st_uid == ::geteuid() && (status.st_mode & permissions) == private_mode &&
         status.st_size == 0;
}

/// Share nothing that existed before: only what is ours and empty after mkdir(2).
Result<Done> Directory::make_below(const std::string& name) const {
  if (auto private_one = make_private(held_->fd, name); !private_one) return private_one;
  const Fd made{::openat(number(), name.c_str(), to_list)};
  struct stat status {};
  // Another directory may be there by now; the next look judges it.
  if (!made || ::fstat(made.number(), &status) != 0 || !is_unfinished(status, name)) return Done{};
  if (struct stat named{}; ::fstatat(number(), name.c_str(), &named, AT_SYMLINK_NOFOLLOW) != 0 ||
                           !is_same(named, status)) {
    return Done{};
  }
  if (gives_away() && ::fchown(made.number(), sharing().owner, same_group) != 0) {
    return last_error();
  }
  if (::fchmod(made.number(), sharing().directory_mode()) != 0) return last_error();
  return Done{};
}

Result<Directory> Directory::below(const std::string& name, Missing missing) const {
  if (!held_) return Error{ENOENT, {}};
  const bool create = missing == Missing::create;
  for (int i = 0; i < most_tries; ++i) {
    auto fd = enter(name);
    if (!fd && fd.error().number == ENOTDIR) return not_as_made(name, S_IFDIR);
    if (!fd && (fd.error().number != ENOENT || !create)) return std::move(fd).error();
    struct stat status {};
    if (fd && ::fstat(fd->number(), &status) != 0) return last_error();
    const bool is_litter = fd && create && is_unfinished(status, name);
    if (fd && !is_litter) {
      const uid_t owner = status.st_uid;
      const bool is_ours = owner == ::geteuid();
      if (sharing().is_sticky && !is_private(status)) return Error{EPERM, {}};
      if (sharing().with == Sharing::With::nobody && !is_ours && owner != sharing().owner) {
        return object("{}: it belongs to user {}, and its directory is no group's: rm -r {}",
                      base::printable(path_of(name)), owner, to_type(path_of(name)));
      }
      return Directory{Held{*std::move(fd), path_of(name), sharing(), *this, name}};
    }
    if (is_litter) (void)::unlinkat(number(), name.c_str(), AT_REMOVEDIR);
    if (auto made = make_below(name); !made && made.error().number != EEXIST) {
      return std::move(made).error();
    }
  }
  return Error{ENOENT, {}};
}

Result<Directory> Directory::private_below(const std::string& name, Missing missing) const {
  if (missing == Missing::create) {
    if (auto made = make_private(held_->fd, name); !made && made.error().number != EEXIST) {
      return std::move(made).error();
    }
  }
  auto fd = enter(name);
  if (!fd && fd.error().number == ENOTDIR) return not_as_made(name, S_IFDIR);
  if (!fd) return std::move(fd).error();
  struct stat status {};
  if (::fstat(fd->number(), &status) != 0) return last_error();
  if (!is_private(status)) return not_private(status, path_of(name));
  return Directory{Held{
      *std::move(fd), path_of(name), {Sharing::With::nobody, false, status.st_uid}, *this, name}};
}

bool Directory::remove_itself() const {
  return held_ && ::unlinkat(above().number(), held_->name.c_str(), AT_REMOVEDIR) == 0;
}

Result<bool> Directory::is_in_place() const {
  struct stat ours {};
  struct stat there {};
  if (!held_) return false;
  if (::fstat(number(), &ours) != 0) return last_error();
  if (::stat(path().c_str(), &there) != 0) return false_if_missing();
  return is_same(ours, there);
}

Result<Done> Directory::for_each_name(const std::function<void(std::string_view)>& use) const {
  if (!held_) return Error{ENOENT, {}};
  Fd fd{::openat(number(), ".", to_list)};
  if (!fd) return last_error();
  return os::for_each_name(std::move(fd), use);
}

// ---- what is in them -------------------------------------------------------------------------

Error Directory::refusal(int error, const std::string& name) const {
  if (!held_) return {ENOENT, {}};
  struct stat status {};
  const bool is_there = ::fstatat(number(), name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0;
  if (is_there && S_ISLNK(status.st_mode)) {
    return object("{}: a symbolic link, which rlock does not follow there: rm {}",
                  base::printable(path_of(name)), to_type(path_of(name)));
  }
  if (error == EISDIR || error == ENXIO) return not_as_made(name, S_IFREG);
  return {error, {}};
}

Error Directory::not_as_made(const std::string& name, mode_t kind) const {
  const char* made =
      kind == S_IFDIR ? "directory" : (kind == S_IFIFO ? "named pipe" : "regular file");
  return object("{}: no {}, as rlock makes it there: rm -r {}", base::printable(path_of(name)),
                made, to_type(path_of(name)));
}

/// A second link may be in a place where someone relies on the file.
Result<Fd> Directory::checked(Fd file, const std::string& name, mode_t kind,
                              std::size_t most) const {
  struct stat status {};
  if (::fstat(file.number(), &status) != 0) return last_error();
  const auto shown = base::printable(path_of(name));
  if ((status.st_mode & S_IFMT) != kind) return not_as_made(name, kind);
  if (status.st_nlink > 1) {
    return object("{}: it has another name elsewhere (a hard link): rm {}", shown,
                  to_type(path_of(name)));
  }
  const bool is_known = status.st_uid == ::geteuid() || status.st_uid == 0 ||
                        (!sharing().is_sticky && status.st_uid == sharing().owner);
  if (!is_known && sharing().with == Sharing::With::nobody) {
    return object("{}: it belongs to user {}: rm {}", shown, status.st_uid, to_type(path_of(name)));
  }
  if (kind == S_IFREG && static_cast<std::size_t>(status.st_size) > most) return Error{EFBIG, {}};
  return file;
}

void Directory::share(const Fd& made) const {
  struct stat status {};
  const bool is_ours = ::fstat(made.number(), &status) == 0 && status.st_uid == ::geteuid();
  if (!is_ours || status.st_nlink != 1) return;
  (void)::fchmod(made.number(), sharing().file_mode());
  if (gives_away()) (void)!::fchown(made.number(), sharing().owner, same_group);
}

Result<Fd> Directory::open_file(const std::string& name, Missing missing, std::size_t most) const {
  for (int i = 0; i < most_tries; ++i) {
    Fd file{::openat(number(), name.c_str(), O_RDWR | as_file)};
    if (!file && errno != ENOENT) return refusal(errno, name);
    if (!file && missing == Missing::give_up) return Error{ENOENT, {}};
    if (file && (missing == Missing::give_up || !is_unfinished(file))) {
      return checked(std::move(file), name, S_IFREG, most);
    }
    if (file) remove(name);
    // Share only what this call makes: an existing file may belong to anybody.
    file = Fd{::openat(number(), name.c_str(), O_RDWR | O_CREAT | O_EXCL | as_file, private_mode)};
    if (file) {
      share(file);
      return file;
    }
    if (errno != EEXIST) return last_error();
  }
  return Error{ENOENT, {}};
}

Result<std::string> Directory::contents_of(const std::string& name, std::size_t most) const {
  Fd opened{::openat(number(), name.c_str(), O_RDONLY | as_file)};
  if (!opened) return refusal(errno, name);
  const auto file = checked(std::move(opened), name, S_IFREG, most);
  if (!file) return file.error();
  return os::contents_of(*file, most);
}

Result<Done> Directory::write_contents(const std::string& name, const std::string& text) const {
  const auto file = open_file(name, Missing::create, std::string::npos);
  if (!file) return file.error();
  return write_all(*file, text);
}

Result<Fd> Directory::open_pipe(const std::string& name, int flags) const {
  Fd pipe{::openat(number(), name.c_str(), flags | as_file)};
  if (!pipe) return refusal(errno, name);
  return checked(std::move(pipe), name, S_IFIFO, 0);
}

Result<Fd> Directory::open_any_pipe(const std::string& name) const {
  Fd pipe{::openat(number(), name.c_str(), O_RDONLY | as_file)};
  if (!pipe) return refusal(errno, name);
  struct stat status {};
  if (::fstat(pipe.number(), &status) != 0) return last_error();
  if (!S_ISFIFO(status.st_mode)) return not_as_made(name, S_IFIFO);
  return pipe;
}

Result<Fd> Directory::make_pipe(const std::string& name) const {
  if (!held_) return Error{ENOENT, {}};
  if (::mkfifoat(number(), name.c_str(), private_mode) != 0) return last_error();
  return open_pipe(name, O_RDWR);
}

Result<Done> Directory::rename(const std::string& from, const std::string& to) const {
  if (::renameat(number(), from.c_str(), number(), to.c_str()) != 0) return last_error();
  return Done{};
}

void Directory::remove(const std::string& name) const {
  (void)::unlinkat(number(), name.c_str(), 0);
}

bool Directory::has(const std::string& name) const {
  struct stat status {};
  return held_ &&
         (::fstatat(number(), name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0 || errno != ENOENT);
}

Result<bool> Directory::has(const std::string& name, const Fd& file) const {
  struct stat ours {};
  struct stat there {};
  if (::fstat(file.number(), &ours) != 0) return last_error();
  if (::fstatat(number(), name.c_str(), &there, AT_SYMLINK_NOFOLLOW) != 0)
    return false_if_missing();
  return is_same(ours, there);
}

std::optional<base::Millis> Directory::unchanged_for(const std::string& name) const {
  struct stat status {};
  if (::fstatat(number(), name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) return std::nullopt;
  return std::max(since_last_write(status), base::Millis{0});
}

void Directory::touch(const std::string& name) const {
  const auto file = open_file(name, Missing::give_up, std::string::npos);
  if (file) (void)::futimens(file->number(), nullptr);
}

std::uint64_t Directory::names_changed_at() const {
  struct stat status {};
  if (::fstat(number(), &status) != 0) return 0;
  const auto since = std::chrono::seconds{status.st_mtim.tv_sec} +
                     std::chrono::nanoseconds{status.st_mtim.tv_nsec};
  return static_cast<std::uint64_t>(std::max(since.count(), decltype(since.count()){0}));
}

std::optional<bool> is_private_directory(const std::string& path) {
  struct stat status {};
  if (::lstat(path.c_str(), &status) != 0) return std::nullopt;
  return S_ISDIR(status.st_mode) && is_private(status);
}

Result<Done> overwrite(const Fd& file, std::size_t offset, const std::string& text) {
  const auto wrote = ::pwrite(file.number(), text.data(), text.size(), static_cast<off_t>(offset));
  if (wrote < 0) return last_error();
  if (static_cast<std::size_t>(wrote) != text.size()) return Error{ENOSPC, {}};
  return Done{};
}

base::Millis since_last_write(const struct stat& status) {
  // File times are wall-clock times.
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  const auto seconds = std::chrono::seconds{now.tv_sec - status.st_mtim.tv_sec};
  const auto rest = std::chrono::nanoseconds{now.tv_nsec - status.st_mtim.tv_nsec};
  return std::chrono::duration_cast<base::Millis>(seconds + rest);
}

}  // namespace os
