// Small files, read and written whole.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

#include "os/error.hpp"
#include "os/fd.hpp"

namespace os {

/// The directory in which `path` is a name: with a slash at its end, or ".".
std::string directory_of(const std::string& path);

/// Of the system's files none is longer: tens of thousands of users are some MiB.
inline constexpr std::size_t longest_file = std::size_t{64} << 20;

/// Calls `use` with every name in a directory, hidden ones too, in no order.
Result<Done> for_each_name(const std::string& directory,
                           const std::function<void(std::string_view)>& use);
Result<Done> for_each_name(Fd directory, const std::function<void(std::string_view)>& use);

/// Of a regular file, EINVAL for anything else; EFBIG if there is more than `most`.
Result<std::string> contents_of(const std::string& path, std::size_t most = longest_file);
/// EFBIG if there is more than `most`.
Result<std::string> contents_of(const Fd& file, std::size_t most = std::string::npos);

/// Not one that is named as an open descriptor of some process.
bool is_regular_file(const std::string& path);

/// Whether replace_contents() may be expected to work. Symbolic links are followed unless one of
/// them belongs to another user, as os::resolve() says: in /tmp anybody could have put it there.
Result<Done> can_create(const std::string& path);

/// Writes a file that is there as a whole or not at all: beside it, with mode 0600, then renamed. A
/// path that is no regular file (a pipe, /dev/null), that names an open descriptor (/dev/stdout),
/// or that nothing can be renamed to (see in_place.hpp), is written to as it is, without waiting
/// for a reader to come.
Result<Done> replace_contents(const std::string& path, const std::string& text);

/// Appends with a single write, so that two writers do not mix.
Result<Done> append_to(const std::string& path, const std::string& text);

/// All of it, however many calls that takes; the reader of a full pipe has 2 s (EAGAIN).
Result<Done> write_all(const Fd& file, std::string_view text);

}  // namespace os
