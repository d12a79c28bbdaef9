// Small files, read and written whole.
#pragma once

#include <optional>
#include <string>

namespace os {

/// Nothing, with errno set, if the file cannot be opened or read.
std::optional<std::string> contents_of(const std::string& path);

/// Whether replace_contents() may be expected to work; sets errno if not.
bool can_create(const std::string& path);

/// Writes a file that is there as a whole or not at all: beside it, with mode 0600, then renamed. A
/// path that is no regular file (a pipe, /dev/null) is written to as it is. False with errno.
bool replace_contents(const std::string& path, const std::string& text);

/// Writes it in place, with one write(2), and as umask(2) says. False with errno.
bool write_contents(const std::string& path, const std::string& text);

/// Whether `path` is a directory of ours that nobody else can write to; makes one if there is none
/// and `create`. False with errno: EPERM if somebody else made it.
bool is_private_directory(const std::string& path, bool create);

/// For a descriptor that a library opened.
void close_on_exec(int fd);

/// Appends with a single write, so that two writers do not mix. False with errno.
bool append_to(const std::string& path, const std::string& text);

}  // namespace os
