// Small files, read and written whole.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

#include "os/error.hpp"
#include "os/fd.hpp"

namespace os {

/// The directory that contains `path`: with a slash at its end, or ".".
std::string directory_of(const std::string& path);

/// No system file is longer: tens of thousands of users take some MiB.
inline constexpr std::size_t longest_file = std::size_t{64} << 20;

/// Calls `use` with every name in a directory, hidden ones included, in no order.
Result<Done> for_each_name(const std::string& directory,
                           const std::function<void(std::string_view)>& use);
Result<Done> for_each_name(Fd directory, const std::function<void(std::string_view)>& use);

/// The contents of a regular file; EINVAL for anything else, EFBIG if there is more than `most`.
Result<std::string> contents_of(const std::string& path, std::size_t most = longest_file);
/// EFBIG if there is more than `most`.
Result<std::string> contents_of(const Fd& file, std::size_t most = std::string::npos);

/// False also for a path that names an open descriptor of some process.
bool is_regular_file(const std::string& path);

/// Whether replace_contents() may be expected to work. Follows symbolic links as os::resolve()
/// does, not those of other users: in /tmp anybody can plant one.
Result<Done> can_create(const std::string& path);

/// Replaces a file as a whole or not at all: writes a file beside it, with mode 0600, and renames
/// that. Writes in place, without waiting for a reader, if the path is not a regular file (a pipe,
/// /dev/null), names an open descriptor (/dev/stdout), or cannot be renamed over (see
/// in_place.hpp).
Result<Done> replace_contents(const std::string& path, const std::string& text);

/// Appends with a single write, so that two writers never mix.
Result<Done> append_to(const std::string& path, const std::string& text);

/// Writes all of the text, in as many calls as that takes. The reader of a full pipe has 2 s
/// (EAGAIN).
Result<Done> write_all(const Fd& file, std::string_view text);

}  // namespace os
