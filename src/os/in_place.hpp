// A file that no other file can take the place of: it is written where it is.
#pragma once

#include <string>
#include <string_view>

#include "os/error.hpp"

namespace os {

/// Whether the regular file `path`, which is no link, may be written to and cannot be replaced by a
/// rename: it is a mount of its own, as Kubernetes' /dev/termination-log, or we may not write to
/// its directory, which then must belong to us or to root, as the file must.
bool is_fixed(const std::string& path);

/// Writes to such a file. A reader may meanwhile see a part.
Result<Done> write_in_place(const std::string& path, std::string_view text);

}  // namespace os
