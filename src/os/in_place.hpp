// A file that no other file can take the place of: it is written where it is.
#pragma once

#include <string_view>

#include "os/error.hpp"
#include "os/resolve.hpp"

namespace os {

/// Whether the file at `place` is a mount of its own, over which none can be renamed.
bool is_mount(const Location& place);

/// Whether the regular file at `place`, which is no link, may be written to and cannot be replaced
/// by a rename: it is a mount of its own, as Kubernetes' /dev/termination-log, or we may not write
/// to its directory, which then must belong to us or to root, as the file must.
bool is_fixed(const Location& place);

/// Whether a sticky directory keeps the file from us: it is another user's, so we may not replace
/// it, although we may write to the directory.
bool is_kept_by_sticky(const Location& place);

/// Writes to a fixed file. A reader may meanwhile see a part.
Result<Done> write_in_place(const Location& place, std::string_view text);

}  // namespace os
