// The files of the C library's name services, read without the C library: their contents, and the
// other services that it would ask.
#pragma once

#include <sys/types.h>

#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

namespace os {

/// Whether /etc/hosts, with this text, lists the host, in any case.
bool is_in_hosts(std::string_view text, std::string_view host);

/// The name of a user in /etc/passwd, with this text.
std::optional<std::string> user_in_passwd(std::string_view text, uid_t user);

/// A line of nsswitch.conf(5), in two parts.
struct NameServices {
  std::string built_in;  // with their actions; empty if there is no such line
  std::string plugins;   // the names of all others, separated by ", "
};
NameServices services_in(std::string_view text, std::string_view database,
                         std::initializer_list<std::string_view> built_in);

}  // namespace os
