#include "base/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>

namespace base {
namespace {

/// The number of a well-formed UTF-8 character of up to 3 bytes; 0 for one of 4.
std::uint32_t code_point(std::string_view character) {
  const auto bits = [&](std::size_t i) { return static_cast<std::uint32_t>(character[i]) & 0x3F; };
  if (character.size() == 2) return (bits(0) & 0x1F) << 6 | bits(1);
  if (character.size() == 3) return (bits(0) & 0x0F) << 12 | bits(1) << 6 | bits(2);
  return character.size() == 1 ? static_cast<std::uint8_t>(character[0]) : 0;
}

/// Marks that turn the order in which what follows is shown, and separators of lines (Unicode 15,
/// UAX #9 and section 23.2): with them "gpj.exe" is shown as "exe.jpg".
bool is_deceptive(std::string_view character) {
  const std::uint32_t point = code_point(character);
  return point == 0x061C || point == 0x200E || point == 0x200F ||
         (point >= 0x2028 && point <= 0x202E) || (point >= 0x2066 && point <= 0x2069);
}

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

/// As character_length(), and 0 for what should not reach a terminal as it is.
std::size_t harmless_length(std::string_view text) {
  const auto byte = static_cast<std::uint8_t>(text.front());
  if (byte < 0x20 || byte == 0x7F) return 0;
  const std::size_t length = character_length(text);
  return is_deceptive(text.substr(0, length)) ? 0 : length;
}

}  // namespace

std::string printable(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const std::size_t length = harmless_length(text);
    if (text.front() == '\n') {
      out += "\\n";
    } else if (text.front() == '\t') {
      out += "\\t";
    } else if (text.front() == '\\') {
      out += "\\\\";
    } else if (length == 0) {
      out += fmt::format("\\x{:02x}", static_cast<std::uint8_t>(text.front()));
    } else {
      out += text.substr(0, length);
    }
    text.remove_prefix(std::max<std::size_t>(length, 1));
  }
  return out;
}

bool is_printable(std::string_view text) {
  while (!text.empty()) {
    const std::size_t length = harmless_length(text);
    if (length == 0) return false;
    text.remove_prefix(length);
  }
  return true;
}

std::string one_line(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const std::size_t length = harmless_length(text);
    out += length == 0 ? printable(text.substr(0, 1)) : std::string{text.substr(0, length)};
    text.remove_prefix(std::max<std::size_t>(length, 1));
  }
  return out;
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

std::string fit_columns(std::string_view text, std::size_t columns) {
  std::size_t used = 0;
  std::size_t kept = 0;  // bytes, with room left for the mark
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t length = std::max<std::size_t>(character_length(text.substr(at)), 1);
    const bool wide = length == 4 || code_point(text.substr(at, length)) >= 0x1100;
    used += wide ? 2 : 1;
    if (used > columns) return std::string{text.substr(0, kept)} + (columns == 0 ? "" : "…");
    at += length;
    if (used < columns) kept = at;
  }
  return std::string{text};
}

std::string_view cut_to(std::string_view text, std::size_t most) {
  if (text.size() <= most) return text;
  const auto continues = [&] { return (static_cast<std::uint8_t>(text[most]) & 0xC0) == 0x80; };
  while (most > 0 && continues()) --most;
  return text.substr(0, most);
}

std::string printable(std::string_view text, std::size_t most) {
  if (text.size() <= most) return printable(text);
  return printable(text.substr(0, most)) + "…";
}

}  // namespace base
