#include "base/text.hpp"

#include <fmt/format.h>

#include <cstdint>

namespace base {
namespace {

/// The length of the well-formed UTF-8 character that `text` begins with, 0 if there is none
/// (Unicode 15, table 3-7; C1 controls count as ill-formed, because terminals obey them).
std::size_t character_length(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<std::uint8_t>(text[i]); };
  const auto continues = [&](std::size_t i) { return i < text.size() && (byte(i) & 0xC0) == 0x80; };
  const std::uint8_t lead = byte(0);
  if (lead < 0x80) return 1;
  if (lead < 0xC2 || lead > 0xF4 || !continues(1)) return 0;
  const std::uint8_t second = byte(1);
  if (lead < 0xE0) return lead == 0xC2 && second < 0xA0 ? 0 : 2;
  if (!continues(2)) return 0;
  if (lead < 0xF0) {
    const bool overlong = lead == 0xE0 && second < 0xA0;
    const bool surrogate = lead == 0xED && second > 0x9F;
    return overlong || surrogate ? 0 : 3;
  }
  if (!continues(3)) return 0;
  const bool overlong = lead == 0xF0 && second < 0x90;
  const bool too_large = lead == 0xF4 && second > 0x8F;
  return overlong || too_large ? 0 : 4;
}

}  // namespace

std::string printable(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const auto byte = static_cast<std::uint8_t>(text.front());
    std::size_t length = 1;
    if (byte == '\n') {
      out += "\\n";
    } else if (byte == '\t') {
      out += "\\t";
    } else if (byte == '\\') {
      out += "\\\\";
    } else if (length = character_length(text); byte < 0x20 || byte == 0x7F || length == 0) {
      out += fmt::format("\\x{:02x}", byte);
      length = 1;
    } else {
      out += text.substr(0, length);
    }
    text.remove_prefix(length);
  }
  return out;
}

bool is_printable(std::string_view text) {
  while (!text.empty()) {
    const auto byte = static_cast<std::uint8_t>(text.front());
    const std::size_t length = character_length(text);
    if (length == 0 || byte < 0x20 || byte == 0x7F) return false;
    text.remove_prefix(length);
  }
  return true;
}

std::string shell_word(std::string_view text) {
  constexpr std::string_view plain =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789@%+=:,./_-";
  if (!text.empty() && text.find_first_not_of(plain) == std::string_view::npos) {
    return std::string{text};
  }
  std::string out = "'";
  for (const char c : text) c == '\'' ? out += "'\\''" : out += c;
  return out + "'";
}

std::string printable(std::string_view text, std::size_t most) {
  if (text.size() <= most) return printable(text);
  return printable(text.substr(0, most)) + "…";
}

}  // namespace base
