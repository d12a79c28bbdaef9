// URLs and what stands in them.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace store {

/// One URL, cut but not yet understood. Views into the text it was cut from.
struct Url {
  std::string_view scheme;
  std::string_view user_info;
  bool has_user_info = false;
  std::string_view host;  // what stands between the user info and the path
  std::string_view path;  // with its leading '/'
  std::string_view query;
};

/// Nothing if there is no "://".
std::optional<Url> cut_url(std::string_view url);
/// Nothing for a broken escape.
std::optional<std::string> percent_decoded(std::string_view text);
std::optional<int> number_in(std::string_view text, int least, int most);

}  // namespace store
