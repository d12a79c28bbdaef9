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

constexpr mode_t group_reads = S_IRGRP;
constexpr mode_t others_access = S_IRGRP | S_IWGRP | S_IROTH | S_IWOTH;

// Who feeds a named pipe stands ready.
constexpr base::Millis for_a_writer{2'000};
// A device, such as /dev/zero, may have no end.
constexpr std::size_t longest = 1 << 20;

using Objection = std::optional<Error>;

/// In a sticky directory others cannot take away what is ours.
Objection object_to_directory(const Fd& directory, const std::string& path) {
  struct stat status {};
  if (::fstat(directory.number(), &status) != 0) return last_error();
  const std::string name = directory_of(path);
  if (!is_ours_or_roots(status)) {
    return object("its directory belongs to user {}, not to you or root: chown {} {}",
                  status.st_uid, ::geteuid(), to_type(name));
  }
  if ((status.st_mode & others_write) != 0 && (status.st_mode & S_ISVTX) == 0) {
    return object("others may write to its directory: chmod go-w {}", to_type(name));
  }
  return std::nullopt;
}

/// What is no file but a device, such as /dev/null or a terminal, has other people's mode and
/// nothing that they could have put there.
Objection object_to_file(const Fd& file, const std::string& path) {
  struct stat status {};
  if (::fstat(file.number(), &status) != 0) return last_error();
  if (S_ISCHR(status.st_mode)) return std::nullopt;
  if (!is_ours_or_roots(status)) {
    return object("it belongs to user {}, not to you or root: chown {} {}", status.st_uid,
                  ::geteuid(), to_type(path));
  }
  if ((status.st_mode & others_write) != 0) {
    return object("others may write to it: chmod go-w {}", to_type(path));
  }
  return std::nullopt;
}

/// A pipe without a name, such as <(...) makes, has a writer or an end; one with a name may never
/// have either.
Objection object_to_silence(const Fd& file) {
  struct stat status {};
  struct statfs system {};
  if (::fstat(file.number(), &status) != 0) return last_error();
  if (!S_ISFIFO(status.st_mode)) return std::nullopt;
  if (::fstatfs(file.number(), &system) == 0 && system.f_type == PIPEFS_MAGIC) return std::nullopt;
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

/// Opens it too, because a mode alone may be another file's.
Result<Fd> open_secret(const std::string& path) {
  const auto place = resolve(path);
  if (!place) return place.error();
  auto file = open_to_read(*place);
  if (!file) return file;
  struct stat status {};
  if (::fstat(file->number(), &status) != 0) return last_error();
  const mode_t allowed = status.st_uid == 0 ? group_reads : 0;
  if (!S_ISCHR(status.st_mode) && (status.st_mode & others_access & ~allowed) != 0) {
    return object("others may read it: chmod go= {}", to_type(path));
  }
  return file;
}

}  // namespace

Result<std::string> contents_of_ours(const std::string& path) {
  // Most hosts have none, which this first look settles.
  struct stat ignored {};
  if (::stat(path.c_str(), &ignored) != 0) return last_error();
  // Links may lead to another directory: nobody else may exchange anything in either.
  const Fd directory{::open(directory_of(path).c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC)};
  if (!directory) return last_error();
  if (auto objection = object_to_directory(directory, path)) return *objection;
  const auto place = resolve(path);
  if (!place) return place.error();
  if (auto objection = object_to_directory(place->directory, place->path)) return *objection;
  const auto file = open_to_read(*place);
  if (!file) return file.error();
  if (auto objection = object_to_file(*file, path)) return *objection;
  return contents_of(*file, longest);
}

Result<std::string> contents_of_secret(const std::string& path) {
  auto file = open_secret(path);
  if (!file) return std::move(file).error();
  return contents_of(*file, longest);
}

Result<Done> check_secret(const std::string& path) {
  auto file = open_secret(path);
  if (!file) return std::move(file).error();
  return Done{};
}

}  // namespace os
