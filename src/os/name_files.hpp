// The files of the C library's name services, read without that: what stands in them, and whom else
// the C library would ask.
#pragma once

#include <sys/types.h>

#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

namespace os {

/// Whether an /etc/hosts of this text has the host, in any case of its letters.
bool is_in_hosts(std::string_view text, std::string_view host);

/// The name that an /etc/passwd of this text has for a user.
std::optional<std::string> user_in_passwd(std::string_view text, uid_t user);

/// A line of nsswitch.conf(5), cut in two.
struct NameServices {
  std::string built_in;  // with the actions behind them; empty if there is no such line
  std::string plugins;   // the names of all others, with ", " between them
};
NameServices services_in(std::string_view text, std::string_view database,
                         std::initializer_list<std::string_view> built_in);

}  // namespace os
