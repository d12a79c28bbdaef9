// Small files, read and written whole.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "os/fd.hpp"
#include "os/sharing.hpp"

namespace os {

/// The directory in which `path` is a name: with a slash at its end, or ".".
std::string directory_of(const std::string& path);

/// Every name in a directory, hidden ones too, in no order. False, with errno, if it cannot be
/// read.
bool for_each_name(const std::string& directory, const std::function<void(std::string_view)>& use);
/// Unlinks it, if it is there and that is allowed.
void remove_name(const std::string& path);

/// Nothing, with errno set, if the file cannot be opened or read.
std::optional<std::string> contents_of(const std::string& path);
std::optional<std::string> contents_of(const Fd& file);

/// Whether replace_contents() may be expected to work; sets errno if not. A symbolic link is
/// followed unless somebody else put it there (EACCES), as anybody could in /tmp.
bool can_create(const std::string& path);

/// Writes a file that is there as a whole or not at all: beside it, with mode 0600, then renamed. A
/// path that is no regular file (a pipe, /dev/null) is written to as it is. False with errno.
bool replace_contents(const std::string& path, const std::string& text);

/// Writes it in place, with one write(2), over what is there: texts of one length replace each
/// other whole, also on a full disk. It is for those of `sharing`. False with errno.
bool write_contents(const std::string& path, const std::string& text, const Sharing& sharing);

/// Whether `path` is a directory of ours that nobody else can write to; makes one if there is none
/// and `create`. False with errno: EPERM if somebody else made it.
bool is_private_directory(const std::string& path, bool create);

/// Whether what is open is still what has that name.
bool is_at(const std::string& path, const Fd& file);

/// Where stdin, stdout or stderr is closed, /dev/null is there instead, so that nothing of ours
/// gets their number. Close-on-exec: the job finds them as we did. Before anything is opened.
void occupy_standard_descriptors();

/// For a descriptor that a library opened.
void close_on_exec(int fd);

/// Appends with a single write, so that two writers do not mix. False with errno.
bool append_to(const std::string& path, const std::string& text);

}  // namespace os
