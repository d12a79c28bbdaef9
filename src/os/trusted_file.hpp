// Files that decide what we do, or that hold a secret: read only if no other user can have written,
// or may read, them.
#pragma once

#include <string>

#include "os/error.hpp"

namespace os {

// The error's number is that of errno; 0 if the file is there but must not be used: then its text
// has the command that mends it. A named pipe that nobody writes to within a moment is refused, and
// so is what has no end, such as /dev/zero.

/// What only we or root can have written: file and directory are ours or root's, no other user may
/// write to the one, or rename in the other. Every rule looks at what was opened, so that nothing
/// can be exchanged in between.
Result<std::string> contents_of_ours(const std::string& path);

/// What only those may read who were meant to: the owner, and a group if the file is root's.
Result<std::string> contents_of_secret(const std::string& path);
/// The same for a file that a library will read: whether it may be used.
Result<Done> check_secret(const std::string& path);

}  // namespace os
