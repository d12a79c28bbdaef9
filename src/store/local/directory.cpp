#include "store/local/directory.hpp"

#include <fmt/format.h>

#include <cerrno>

#include "base/digest.hpp"
#include "os/host.hpp"

namespace store::local {
namespace {

/// Where `file:` alone and gates are. All processes of a user come to the same one, with a session
/// or without, as long as the host is up.
std::string private_directory() {
  std::string shared = os::shared_runtime_directory() + "/rlock-" + os::user_number();
  const auto own = os::own_runtime_directory();
  if (!own) return shared;
  std::string alone = own->path + "/rlock";
  if (os::is_private_directory(alone).value_or(false)) return alone;
  const auto is_ours = os::is_private_directory(shared);
  // Earlier versions also have the locks of root here. If it is in use, it stays in use until the
  // host restarts: runs there must exclude us, and their records count.
  if (is_ours.value_or(false)) return shared;
  // A directory that ends with the session loses the locks of jobs that outlive it, and cron's
  // later jobs would not find them. So use it only if another user has taken the shared name.
  const bool is_taken = is_ours.has_value();
  return own->lasts || is_taken ? alone : shared;
}

constexpr std::size_t longest_file_name = 255;

}  // namespace

base::Result<LocalDirectory, BadUrl> directory_in(const Url& url) {
  if (url.has_user_info || !url.host.empty() || !url.query.empty()) {
    return BadUrl{"file: needs an absolute path and nothing else: file:///directory"};
  }
  if (url.path.empty()) return LocalDirectory{private_directory(), private_directory()};
  const auto path = percent_decoded(url.path);
  if (!path) return BadUrl{"a broken %-escape in the path"};
  return LocalDirectory{*path};
}

LocalDirectory gates_of(std::string_view server) {
  const std::string root = private_directory();
  // Two servers that met in one number would share their gates, which costs time only.
  return {fmt::format("{}/.gates/{:016x}", root, base::digest(server)), root, true};
}

std::optional<std::string> file_of(const LockName& name) {
  std::string file = percent_encoded(name.text());
  if (file.size() > longest_file_name) return std::nullopt;
  return file;
}

std::optional<LockName> name_of(std::string_view file_name) {
  if (file_name.starts_with('.')) return std::nullopt;  // no key is hidden, nor "." or ".."
  const auto text = percent_decoded(file_name);
  return text ? LockName::from(*text) : std::nullopt;
}

Fault fault_of(const std::string& path, const os::Error& error) {
  const int number = error.number;
  if (number == 0) return {Fault::Kind::denied, error.what};
  if (number == EAGAIN || number == EINTR) {
    return {Fault::Kind::unavailable, path + ": another process keeps it locked"};
  }
  const bool denied = number == EACCES || number == EPERM || number == EROFS;
  return {denied ? Fault::Kind::denied : Fault::Kind::unavailable,
          fmt::format("{}: {}", path, os::describe(number))};
}

Result<os::Directory> open_directory(const LocalDirectory& directory, os::Missing missing) {
  const std::string& root = directory.private_root;
  const auto is_none = [&](const os::Error& error) {
    return missing == os::Missing::give_up && error.number == ENOENT;
  };
  auto opened = root.empty() ? os::Directory::open(directory.path, missing)
                             : os::Directory::open_private(root, missing);
  if (opened && !root.empty()) {
    // The names below it, one at a time.
    std::string_view rest{directory.path};
    rest.remove_prefix(root.size());
    while (opened && !rest.empty()) {
      rest.remove_prefix(1);
      const auto name = rest.substr(0, rest.find('/'));
      rest.remove_prefix(name.size());
      opened = os::Directory{*opened}.private_below(std::string{name}, missing);
    }
  }
  if (opened) return *std::move(opened);
  if (is_none(opened.error())) return os::Directory{};
  if (root.empty() && opened.error().number == EPERM) {
    return Fault{Fault::Kind::denied,
                 directory.path +
                     ": everybody may write there, and take away what others made: name a "
                     "directory of your own, or chmod o-w"};
  }
  return fault_of(root.empty() ? directory.path : root, opened.error());
}

}  // namespace store::local
