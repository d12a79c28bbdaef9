// Files that decide what we do, or that hold a secret: read only if no other user can have written,
// or may read, them.
#pragma once

#include <string>

#include "os/error.hpp"

namespace os {

// The error's number is that of errno; 0 if the file is there but must not be used: then its text
// has the command that mends it. A named pipe that nobody writes to within a moment is refused, and
// so is what has no end, such as /dev/zero.

/// The contents of a file that only we or root can have written: file and directory belong to us or
/// to root, and no other user may write to the file or rename in the directory. Every rule looks at
/// the opened file, so that nobody can exchange it in between.
Result<std::string> contents_of_ours(const std::string& path);

/// The same of a file that moreover only its owner may read, or a group if the file is root's. A
/// pipe without a name may be of any user.
Result<std::string> contents_of_secret(const std::string& path);
/// Whether a file that a library will read is such a file.
Result<Done> check_secret(const std::string& path);

}  // namespace os
