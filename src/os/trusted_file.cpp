#include "os/trusted_file.hpp"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <optional>

#include "os/fd.hpp"
#include "os/file.hpp"
#include "os/objection.hpp"
#include "os/poll.hpp"
#include "os/resolve.hpp"

namespace os {
namespace {

enum class Readers { anybody, owner_alone };

// A process that feeds a named pipe is already waiting.
constexpr base::Millis for_a_writer{2'000};
// A device, such as /dev/zero, may have no end.
constexpr std::size_t longest = 1 << 20;

using Objection = std::optional<Error>;

std::string to_chown(uid_t owner, const std::string& path) {
  return mend_owner(owner, fmt::format("chown {} {}", ::geteuid(), to_type(path)));
}

/// In a sticky directory other users cannot remove our files.
Objection object_to_directory(const Fd& directory, const std::string& path) {
  struct stat status {};
  if (::fstat(directory.number(), &status) != 0) return last_error();
  const std::string name = directory_of(path);
  if (!is_ours_or_roots(status)) {
    return object("its directory belongs to user {}, not to you or root: {}", status.st_uid,
                  to_chown(status.st_uid, name));
  }
  if ((status.st_mode & others_write) != 0 && (status.st_mode & S_ISVTX) == 0) {
    return object("others may write to its directory: chmod go-w {}", to_type(name));
  }
  return std::nullopt;
}

/// A pipe without a name, such as <(...) makes: its reader got it from the process that made it.
bool is_nameless_pipe(const Fd& file, const struct stat& status) {
  struct statfs system {};
  return S_ISFIFO(status.st_mode) && ::fstatfs(file.number(), &system) == 0 &&
         system.f_type == PIPEFS_MAGIC;
}

/// The mode of a device, such as /dev/null or a terminal, says nothing about its contents.
Objection object_to_file(const Fd& file, const std::string& path, Readers readers) {
  struct stat status {};
  if (::fstat(file.number(), &status) != 0) return last_error();
  const bool is_secret = readers == Readers::owner_alone;
  // sudo passes on the user's pipe, whose writer sends a password of their own, not a file of ours.
  const bool is_handed_in = is_secret && is_nameless_pipe(file, status);
  if (S_ISCHR(status.st_mode) || is_handed_in) return std::nullopt;
  if (!is_ours_or_roots(status)) {
    return object("it belongs to user {}, not to you or root: {}", status.st_uid,
                  to_chown(status.st_uid, path));
  }
  const mode_t readable = S_IROTH | (status.st_uid == 0 ? mode_t{0} : mode_t{S_IRGRP});
  if (is_secret && (status.st_mode & (readable | others_write)) != 0) {
    return object("others may read it: chmod go= {}", to_type(path));
  }
  if ((status.st_mode & others_write) != 0) {
    return object("others may write to it: chmod go-w {}", to_type(path));
  }
  return std::nullopt;
}

/// A pipe without a name has a writer or an end; a named one may never have either.
Objection object_to_silence(const Fd& file) {
  struct stat status {};
  if (::fstat(file.number(), &status) != 0) return last_error();
  if (!S_ISFIFO(status.st_mode) || is_nameless_pipe(file, status)) return std::nullopt;
  const CallLimit limit{base::Deadline::after(base::now(), for_a_writer)};
  if (wait_for(file.number(), Want::read, limit) == Ready::yes) return std::nullopt;
  return object("it is a pipe that nobody wrote to within {}ms", for_a_writer.count());
}

/// Opening a named pipe would wait for its writer without end; reading then does wait.
Result<Fd> open_to_read(const Location& place) {
  Fd file = place.open(O_RDONLY | O_NONBLOCK | O_NOCTTY);
  if (!file) return last_error();
  struct stat status {};
  if (::fstat(file.number(), &status) != 0) return last_error();
  if (S_ISDIR(status.st_mode)) return Error{EISDIR, {}};
  if (auto objection = object_to_silence(file)) return *objection;
  if (::fcntl(file.number(), F_SETFL, 0) != 0) return last_error();
  return file;
}

/// The rule for every file that controls us or contains a secret. Checks the opened file, because
/// by now the path may lead elsewhere.
Result<Fd> open_ours(const std::string& path, Readers readers) {
  // Most hosts have no such file, which this first look settles.
  struct stat ignored {};
  if (::stat(path.c_str(), &ignored) != 0) return last_error();
  // Links may lead to another directory: no other user may exchange anything in either.
  const Fd directory{::open(directory_of(path).c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC)};
  if (!directory) return last_error();
  if (auto objection = object_to_directory(directory, path)) return *objection;
  const auto place = resolve(path);
  if (!place) return place.error();
  if (auto objection = object_to_directory(place->directory, place->path)) return *objection;
  auto file = open_to_read(*place);
  if (!file) return file;
  if (auto objection = object_to_file(*file, path, readers)) return *objection;
  return file;
}

Result<std::string> contents_of(const std::string& path, Readers readers) {
  const auto file = open_ours(path, readers);
  if (!file) return file.error();
  return contents_of(*file, longest);
}

}  // namespace

Result<std::string> contents_of_ours(const std::string& path) {
  return contents_of(path, Readers::anybody);
}

Result<std::string> contents_of_secret(const std::string& path) {
  return contents_of(path, Readers::owner_alone);
}

Result<Done> check_secret(const std::string& path) {
  const auto file = open_ours(path, Readers::owner_alone);
  if (!file) return file.error();
  return Done{};
}

}  // namespace os
