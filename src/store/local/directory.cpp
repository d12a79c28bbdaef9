#include "store/local/directory.hpp"

#include <fmt/format.h>

#include "os/host.hpp"

namespace store::local {
namespace {

std::string private_directory() {
  return os::runtime_directory() + "/rlock-" + os::user_number();
}

constexpr std::size_t longest_file_name = 255;

}  // namespace

// FNV-1a, https://datatracker.ietf.org/doc/html/draft-eastlake-fnv
std::uint64_t digest(std::string_view text) {
  std::uint64_t value = 0xcbf29ce484222325;
  for (const char c : text) value = (value ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return value;
}

std::optional<base::Result<LocalDirectory, BadUrl>> directory_in(const Url& url) {
  if (url.scheme != "file") return std::nullopt;
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
  return {fmt::format("{}/.gates/{:016x}", root, digest(server)), root, true};
}

std::optional<std::string> path_of(const LocalDirectory& directory, const LockName& name) {
  const std::string file = percent_encoded(name.text());
  if (file.size() > longest_file_name) return std::nullopt;
  return directory.path + "/" + file;
}

std::optional<LockName> name_of(std::string_view file_name) {
  const auto text = percent_decoded(file_name);
  return text ? LockName::from(*text) : std::nullopt;
}

}  // namespace store::local
