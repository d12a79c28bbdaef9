// The fields of a record's line, which tabs separate, and the numbers in them.
#pragma once

#include <algorithm>
#include <charconv>
#include <optional>
#include <string_view>
#include <vector>

namespace base {

/// The fields between the text's tabs: at least one, which may be empty. They point into the text.
inline std::vector<std::string_view> fields_of(std::string_view text) {
  std::vector<std::string_view> fields;
  for (;;) {
    const auto tab = std::min(text.find('\t'), text.size());
    fields.push_back(text.substr(0, tab));
    if (tab == text.size()) return fields;
    text.remove_prefix(tab + 1);
  }
}

/// The decimal number that the whole text represents; nothing if it is anything else or does not
/// fit.
template <class Number>
std::optional<Number> number_in(std::string_view text) {
  Number number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return number;
}

}  // namespace base
