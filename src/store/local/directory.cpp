#include "store/local/directory.hpp"

#include "os/host.hpp"

namespace store::local {
namespace {

constexpr std::size_t longest_file_name = 255;

}  // namespace

std::optional<std::variant<LocalDirectory, BadUrl>> directory_in(const Url& url) {
  if (url.scheme != "file") return std::nullopt;
  if (url.has_user_info || !url.host.empty() || !url.query.empty()) {
    return BadUrl{"file: wants an absolute path and nothing else: file:///directory"};
  }
  if (url.path.empty())
    return LocalDirectory{os::runtime_directory() + "/rlock-" + os::user_number(), true};
  const auto path = percent_decoded(url.path);
  if (!path) return BadUrl{"a broken %-escape in the path"};
  return LocalDirectory{*path, false};
}

std::optional<std::string> place_of(const LocalDirectory& directory, const LockName& name) {
  const std::string file = percent_encoded(name.text());
  if (file.size() > longest_file_name) return std::nullopt;
  return directory.path + "/" + file;
}

std::optional<LockName> name_of(std::string_view file_name) {
  const auto text = percent_decoded(file_name);
  return text ? LockName::from(*text) : std::nullopt;
}

}  // namespace store::local
