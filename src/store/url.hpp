// URLs and what stands in them.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace store {

struct BadUrl {
  std::string why;
};

/// One URL, cut but not yet understood. Views into the text it was cut from.
struct Url {
  std::string_view scheme;
  std::string_view user_info;
  bool has_user_info = false;
  bool has_host = false;  // there is a "//", whatever is behind it
  std::string_view host;  // what stands between the user info and the path
  std::string_view path;  // with its leading '/'
  std::string_view query;
};

/// Nothing if it begins with no "scheme:".
std::optional<Url> cut_url(std::string_view url);
/// Nothing for a broken escape.
std::optional<std::string> percent_decoded(std::string_view text);
/// With everything but letters, digits and -_:+@=,. as %XX, a leading dot too: fit for the name of
/// a file or of a node.
std::string percent_encoded(std::string_view text);
std::optional<int> number_in(std::string_view text, int least, int most);

/// Where a server listens.
struct HostPort {
  std::string host;
  std::string port;
  bool operator==(const HostPort&) const = default;
};
/// "host[:port],[IPv6]:port...", at least one.
std::variant<std::vector<HostPort>, BadUrl> hosts_in(std::string_view text,
                                                     std::string_view usual_port);

/// "user:password", decoded; the password is empty if there is no colon. Nothing for a broken
/// escape.
std::optional<std::pair<std::string, std::string>> user_and_password(const Url& url);

/// "name=value&name=value", values decoded; nothing for a broken escape.
std::optional<std::vector<std::pair<std::string, std::string>>> options_in(std::string_view query);

}  // namespace store
