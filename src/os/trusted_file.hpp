// Files that say what we do, or that nobody else should know: read only if they are what they seem.
#pragma once

#include <string>
#include <variant>

namespace os {

/// `error` is that of errno; 0 if the file is there but must not be used: then `why` has the
/// command that mends it.
struct NotRead {
  int error;
  std::string why;
};

/// What only we or root can have written: file and directory are ours or root's, nobody else may
/// write to the one, or rename in the other. Looked at through what was opened, so that nothing can
/// be exchanged in between.
std::variant<std::string, NotRead> contents_of_ours(const std::string& path);

/// What only those may read who were meant to: the owner, and a group if the file is root's.
std::variant<std::string, NotRead> contents_of_secret(const std::string& path);
/// The same for a file that somebody else will read: nothing, if it may be used.
std::variant<std::monostate, NotRead> look_at_secret(const std::string& path);

}  // namespace os
