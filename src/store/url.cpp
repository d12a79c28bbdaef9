#include "store/url.hpp"

#include <algorithm>
#include <charconv>

namespace store {

std::optional<Url> cut_url(std::string_view url) {
  const auto colon = url.find("://");
  if (colon == std::string_view::npos) return std::nullopt;
  Url parts;
  parts.scheme = url.substr(0, colon);
  std::string_view rest = url.substr(colon + 3);
  if (const auto mark = rest.find('?'); mark != std::string_view::npos) {
    parts.query = rest.substr(mark + 1);
    rest = rest.substr(0, mark);
  }
  // The last '@' ends the user info, so that a password with a raw '@' or '/' in it still works
  // and, above all, is never taken for a host name and shown.
  if (const auto at = rest.rfind('@'); at != std::string_view::npos) {
    parts.user_info = rest.substr(0, at);
    parts.has_user_info = true;
    rest = rest.substr(at + 1);
  }
  const auto slash = std::min(rest.find('/'), rest.size());
  parts.host = rest.substr(0, slash);
  parts.path = rest.substr(slash);
  return parts;
}

std::optional<std::string> percent_decoded(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    if (text.front() != '%') {
      out += text.front();
      text.remove_prefix(1);
      continue;
    }
    unsigned value = 0;
    if (text.size() < 3) return std::nullopt;
    const auto [end, error] = std::from_chars(text.data() + 1, text.data() + 3, value, 16);
    if (error != std::errc{} || end != text.data() + 3) return std::nullopt;
    out += static_cast<char>(value);
    text.remove_prefix(3);
  }
  return out;
}

std::optional<int> number_in(std::string_view text, int least, int most) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  if (value < least || value > most) return std::nullopt;
  return value;
}

}  // namespace store
