#include "os/trusted_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <optional>

#include "base/text.hpp"
#include "os/fd.hpp"
#include "os/file.hpp"

namespace os {
namespace {

constexpr mode_t others_write = S_IWGRP | S_IWOTH;
constexpr mode_t group_reads = S_IRGRP;
constexpr mode_t others_access = S_IRGRP | S_IWGRP | S_IROTH | S_IWOTH;

using Objection = std::optional<Error>;

template <class... Values>
Objection object(fmt::format_string<Values...> format, Values&&... values) {
  return Error{0, fmt::format(format, std::forward<Values>(values)...)};
}

bool is_ours(const struct stat& status) {
  return status.st_uid == ::geteuid() || status.st_uid == 0;
}

/// A quoted word that can be copied into a shell, and never ends the line.
std::string word(const std::string& path) {
  return base::shell_word(base::printable(path));
}

/// In a sticky directory others cannot take away what is ours.
Objection object_to_directory(int directory, const std::string& path) {
  struct stat status {};
  if (::fstat(directory, &status) != 0) return last_error();
  const std::string name = directory_of(path);
  if (!is_ours(status)) {
    return object("its directory belongs to user {}, not to you or root: chown {} {}",
                  status.st_uid, ::geteuid(), word(name));
  }
  if ((status.st_mode & others_write) != 0 && (status.st_mode & S_ISVTX) == 0) {
    return object("others may write to its directory: chmod go-w {}", word(name));
  }
  return std::nullopt;
}

/// What is no file but a device, such as /dev/null or a terminal, has other people's mode and
/// nothing that they could have put there.
Objection object_to_file(const Fd& file, const std::string& path) {
  struct stat status {};
  if (::fstat(file.number(), &status) != 0) return last_error();
  if (S_ISCHR(status.st_mode)) return std::nullopt;
  if (!is_ours(status)) {
    return object("it belongs to user {}, not to you or root: chown {} {}", status.st_uid,
                  ::geteuid(), word(path));
  }
  if ((status.st_mode & others_write) != 0) {
    return object("others may write to it: chmod go-w {}", word(path));
  }
  return std::nullopt;
}

/// A link in a sticky directory may be anybody's.
Objection object_to_link(int directory, const char* name, const std::string& path) {
  struct stat status {};
  if (::fstatat(directory, name, &status, AT_SYMLINK_NOFOLLOW) != 0) return last_error();
  if (!S_ISLNK(status.st_mode) || is_ours(status)) return std::nullopt;
  return object("it is a link that belongs to user {}, not to you or root: rm {}", status.st_uid,
                word(path));
}

/// Opens it too, because a mode alone may be another file's.
Result<Fd> open_secret(const std::string& path) {
  Fd file{::open(path.c_str(), O_RDONLY | O_CLOEXEC)};
  struct stat status {};
  if (!file || ::fstat(file.number(), &status) != 0) return last_error();
  const mode_t allowed = status.st_uid == 0 ? group_reads : 0;
  if (!S_ISCHR(status.st_mode) && (status.st_mode & others_access & ~allowed) != 0) {
    return *object("others may read it: chmod go= {}", word(path));
  }
  return file;
}

}  // namespace

Result<std::string> contents_of_ours(const std::string& path) {
  // Most hosts have none, which this first look settles.
  struct stat ignored {};
  if (::stat(path.c_str(), &ignored) != 0) return last_error();
  const Fd directory{::open(directory_of(path).c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC)};
  if (!directory) return last_error();
  const char* name = path.c_str() + path.rfind('/') + 1;
  if (auto objection = object_to_directory(directory.number(), path)) return *objection;
  if (auto objection = object_to_link(directory.number(), name, path)) return *objection;
  const Fd file{::openat(directory.number(), name, O_RDONLY | O_CLOEXEC)};
  if (!file) return last_error();
  if (auto objection = object_to_file(file, path)) return *objection;
  return contents_of(file);
}

Result<std::string> contents_of_secret(const std::string& path) {
  auto file = open_secret(path);
  if (!file) return std::move(file).error();
  return contents_of(*file);
}

Result<Done> check_secret(const std::string& path) {
  auto file = open_secret(path);
  if (!file) return std::move(file).error();
  return Done{};
}

}  // namespace os
