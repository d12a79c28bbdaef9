// Files that cannot be replaced by a rename and are written in place.
#pragma once

#include <string_view>

#include "os/error.hpp"
#include "os/resolve.hpp"

namespace os {

/// Whether the file at `place` is a mount of its own, so that nothing can be renamed over it.
bool is_mount(const Location& place);

/// Whether the regular file at `place`, not a link, is writable but cannot be replaced by a rename.
/// That is so if it is a mount of its own, as Kubernetes' /dev/termination-log, or if we may not
/// write to its directory. That directory and the file must then belong to us or to root.
bool is_fixed(const Location& place);

/// Whether a sticky directory protects the file from us: it is another user's, so we may not
/// replace it although we may write to the directory.
bool is_kept_by_sticky(const Location& place);

/// Writes to a fixed file. A reader may see part of the text.
Result<Done> write_in_place(const Location& place, std::string_view text);

}  // namespace os
