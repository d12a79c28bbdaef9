// The journal of systemd, as a place to write to: its native protocol, without its library.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace os {

/// Whether stderr is a stream to the journal: JOURNAL_STREAM names its device and inode
/// (systemd.exec(5)). A program that inherits the variable, but not the stream, is not deceived.
bool stderr_is_journal();

inline constexpr const char* journal_socket = "/run/systemd/journal/socket";

/// A datagram of the native protocol: NAME=VALUE a line; a value with a newline comes after its
/// length. Names are of A-Z, 0-9 and _.
std::string journal_entry(const std::vector<std::pair<std::string, std::string>>& fields);

/// Never waits. Whether the journal has taken it. Any thread.
bool send_to_journal(std::string_view entry, const char* socket = journal_socket);

}  // namespace os
