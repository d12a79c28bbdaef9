// A directory of this host that holds locks, as a URL names it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "store/names.hpp"
#include "store/url.hpp"

namespace store {

/// file:///dir, or file: for a directory of the user's own.
struct LocalDirectory {
  std::string path;
  std::string private_root{};  // above it: nobody else may have made this, nor write to it
  // Nothing depends on who passes a gate: nothing is remembered of it, and a holder that does not
  // answer is passed as a waiter is.
  bool is_of_gates = false;
};

namespace local {

inline constexpr std::string_view accepted_servers = "file:[///directory]";

/// Nothing if the scheme is of another kind of store.
std::optional<base::Result<LocalDirectory, BadUrl>> directory_in(const Url& url);

/// For the gates of locks that live on `server`, a text that names it.
LocalDirectory gates_of(std::string_view server);

/// Of texts as long as one likes, a number that two of them hardly share.
std::uint64_t digest(std::string_view text);

/// The directory of one lock: the key, with what may not stand in a file's name percent-encoded.
/// Nothing if that gets longer than a name may be.
std::optional<std::string> path_of(const LocalDirectory& directory, const LockName& name);
/// The other way round; `file_name` is the last part of such a path.
std::optional<LockName> name_of(std::string_view file_name);

}  // namespace local
}  // namespace store
