// Writes to systemd's journal by its native protocol, without its library.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace os {

/// Whether stderr is a stream to the journal: JOURNAL_STREAM names its device and inode
/// (systemd.exec(5)). So a program that inherits only the variable is not deceived.
bool stderr_is_journal();

inline constexpr const char* journal_socket = "/run/systemd/journal/socket";

/// A datagram of the native protocol: one NAME=VALUE a line; a value with a newline follows its
/// length. Names consist of A-Z, 0-9 and _.
std::string journal_entry(const std::vector<std::pair<std::string, std::string>>& fields);

/// Returns whether the journal took the entry. Never blocks. Any thread.
bool send_to_journal(std::string_view entry, const char* socket = journal_socket);

}  // namespace os
