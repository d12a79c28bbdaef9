// A directory of this host that holds locks, as a URL names it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "os/directory.hpp"
#include "store/lock_store.hpp"
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

/// The directory that a file: URL names.
base::Result<LocalDirectory, BadUrl> directory_in(const Url& url);

/// For the gates of locks that live on `server`, a text that names it.
LocalDirectory gates_of(std::string_view server);

/// The name of a lock's directory: the key, with what may not stand in a file's name
/// percent-encoded. Nothing if that gets longer than a name may be.
std::optional<std::string> file_of(const LockName& name);
/// The other way round.
std::optional<LockName> name_of(std::string_view file_name);

/// Held open, with all that has to be above it. `missing` also says whether it is a fault that it
/// does not exist: if not, it is an empty one.
Result<os::Directory> open_directory(const LocalDirectory& directory, os::Missing missing);

/// The system's refusal in the directory `path`, or the reason why its contents must not be used.
Fault fault_of(const std::string& path, const os::Error& error);

}  // namespace local
}  // namespace store
