// Files that control rlock or contain a secret: read only if no other user can have written to
// them, or may read them.
#pragma once

#include <string>

#include "os/error.hpp"

namespace os {

// The error's number is that of errno; 0 if the file must not be used: then its text has the
// command that mends it. Refuses a named pipe without a writer after a moment, and endless files
// such as /dev/zero.

/// The contents of a file that only we or root can have written. File and directory must belong to
/// us or to root, and no other user may write to the file or rename in the directory. Every rule
/// checks the opened file, so that no other user can exchange it in between.
Result<std::string> contents_of_ours(const std::string& path);

/// The same for a file that only its owner may read, or a group if the file is root's. A pipe
/// without a name may belong to any user.
Result<std::string> contents_of_secret(const std::string& path);
/// Checks a file that a library will read by the same rules.
Result<Done> check_secret(const std::string& path);

}  // namespace os
