#include "base/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>

namespace base {
namespace {

/// The number of a well-formed UTF-8 character; for any other byte, that byte.
std::uint32_t code_point(std::string_view character) {
  const auto bits = [&](std::size_t i) { return static_cast<std::uint32_t>(character[i]) & 0x3F; };
  switch (character.size()) {
    case 2: return (bits(0) & 0x1F) << 6 | bits(1);
    case 3: return (bits(0) & 0x0F) << 12 | bits(1) << 6 | bits(2);
    case 4: return (bits(0) & 0x07) << 18 | bits(1) << 12 | bits(2) << 6 | bits(3);
    default: return character.empty() ? 0 : static_cast<std::uint8_t>(character[0]);
  }
}

struct Range {
  std::uint32_t first;
  std::uint32_t last;
};

bool is_in(std::uint32_t point, const Range* begin, const Range* end) {
  const Range* found = std::lower_bound(
      begin, end, point, [](const Range& range, std::uint32_t each) { return range.last < each; });
  return found != end && found->first <= point;
}

// Unicode 15, EastAsianWidth.txt: W and F; whole blocks for scripts and emoji.
constexpr std::array wide_ranges{
    Range{0x1100, 0x115F},   Range{0x231A, 0x231B},   Range{0x2329, 0x232A},
    Range{0x23E9, 0x23EC},   Range{0x23F0, 0x23F0},   Range{0x23F3, 0x23F3},
    Range{0x25FD, 0x25FE},   Range{0x2614, 0x2615},   Range{0x2648, 0x2653},
    Range{0x267F, 0x267F},   Range{0x2693, 0x2693},   Range{0x26A1, 0x26A1},
    Range{0x26AA, 0x26AB},   Range{0x26BD, 0x26BE},   Range{0x26C4, 0x26C5},
    Range{0x26CE, 0x26CE},   Range{0x26D4, 0x26D4},   Range{0x26EA, 0x26EA},
    Range{0x26F2, 0x26F3},   Range{0x26F5, 0x26F5},   Range{0x26FA, 0x26FA},
    Range{0x26FD, 0x26FD},   Range{0x2705, 0x2705},   Range{0x270A, 0x270B},
    Range{0x2728, 0x2728},   Range{0x274C, 0x274C},   Range{0x274E, 0x274E},
    Range{0x2753, 0x2755},   Range{0x2757, 0x2757},   Range{0x2795, 0x2797},
    Range{0x27B0, 0x27B0},   Range{0x27BF, 0x27BF},   Range{0x2B1B, 0x2B1C},
    Range{0x2B50, 0x2B50},   Range{0x2B55, 0x2B55},   Range{0x2E80, 0x303E},
    Range{0x3041, 0x4DBF},   Range{0x4E00, 0xA4CF},   Range{0xA960, 0xA97F},
    Range{0xAC00, 0xD7A3},   Range{0xF900, 0xFAFF},   Range{0xFE10, 0xFE19},
    Range{0xFE30, 0xFE6F},   Range{0xFF01, 0xFF60},   Range{0xFFE0, 0xFFE6},
    Range{0x16FE0, 0x18CFF}, Range{0x1AFF0, 0x1B2FF}, Range{0x1F004, 0x1F004},
    Range{0x1F0CF, 0x1F0CF}, Range{0x1F18E, 0x1F18E}, Range{0x1F191, 0x1F19A},
    Range{0x1F200, 0x1F265}, Range{0x1F300, 0x1F64F}, Range{0x1F680, 0x1F6FF},
    Range{0x1F7E0, 0x1F7EB}, Range{0x1F90C, 0x1F9FF}, Range{0x1FA70, 0x1FAFF},
    Range{0x20000, 0x3FFFD}};

// Joiners, and marks that are drawn on the preceding character: the common ones.
constexpr std::array zero_width_ranges{
    Range{0x0300, 0x036F}, Range{0x0483, 0x0489},  Range{0x0591, 0x05BD}, Range{0x0610, 0x061A},
    Range{0x064B, 0x065F}, Range{0x0E34, 0x0E3A},  Range{0x0E47, 0x0E4E}, Range{0x1AB0, 0x1AFF},
    Range{0x1DC0, 0x1DFF}, Range{0x200B, 0x200D},  Range{0x20D0, 0x20FF}, Range{0xFE00, 0xFE0F},
    Range{0xFE20, 0xFE2F}, Range{0xE0100, 0xE01EF}};

std::size_t width_of(std::string_view character) {
  const std::uint32_t point = code_point(character);
  if (point < 0x300) return 1;
  if (is_in(point, zero_width_ranges.begin(), zero_width_ranges.end())) return 0;
  return is_in(point, wide_ranges.begin(), wide_ranges.end()) ? 2 : 1;
}

/// Marks that change the direction of the following text, and line separators (Unicode 15, UAX #9
/// and section 23.2). They make "gpj.exe" appear as "exe.jpg".
bool is_deceptive(std::string_view character) {
  const std::uint32_t point = code_point(character);
  return point == 0x061C || point == 0x200E || point == 0x200F ||
         (point >= 0x2028 && point <= 0x202E) || (point >= 0x2066 && point <= 0x2069);
}

/// The length of the well-formed UTF-8 character that `text` begins with, or 0 if there is none
/// (Unicode 15, table 3-7). C1 controls count as ill-formed, because terminals obey them.
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

/// As character_length(), and 0 for a character that is unsafe on a terminal.
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

std::string shown_shell_word(std::string_view text) {
  if (one_line(text) == text) return shell_word(text);
  std::string out = "$'";
  for (const char c : printable(text)) c == '\'' ? out += "\\'" : out += c;
  return out + "'";
}

std::size_t columns_of(std::string_view text) {
  std::size_t used = 0;
  while (!text.empty()) {
    const std::size_t length = std::max<std::size_t>(character_length(text), 1);
    used += width_of(text.substr(0, length));
    text.remove_prefix(length);
  }
  return used;
}

namespace {

/// How many bytes of the text fit into that many columns.
std::size_t bytes_within(std::string_view text, std::size_t columns) {
  std::size_t used = 0;
  std::size_t at = 0;
  while (at < text.size()) {
    const std::size_t length = std::max<std::size_t>(character_length(text.substr(at)), 1);
    used += width_of(text.substr(at, length));
    if (used > columns) break;
    at += length;
  }
  return at;
}

}  // namespace

std::string fit_columns(std::string_view text, std::size_t columns) {
  if (bytes_within(text, columns) == text.size()) return std::string{text};
  if (columns == 0) return "";
  return std::string{text.substr(0, bytes_within(text, columns - 1))} + "…";
}

std::string fit_middle(std::string_view text, std::size_t columns) {
  if (columns < 3 || bytes_within(text, columns) == text.size()) return fit_columns(text, columns);
  const std::string_view head = text.substr(0, bytes_within(text, columns / 2));
  const std::size_t left = columns - columns_of(head) - 1;
  // Shorten from the front until the rest fits: only a forward scan knows where characters begin.
  std::string_view tail = text;
  std::size_t wide = columns_of(text);
  while (!tail.empty() && wide > left) {
    const std::size_t length = std::max<std::size_t>(character_length(tail), 1);
    wide -= width_of(tail.substr(0, length));
    tail.remove_prefix(length);
  }
  // A mark without its character would be drawn on the dots.
  while (!tail.empty()) {
    const std::size_t length = std::max<std::size_t>(character_length(tail), 1);
    if (width_of(tail.substr(0, length)) > 0) break;
    tail.remove_prefix(length);
  }
  return std::string{head} + "…" + std::string{tail};
}

std::vector<std::string> lines_within(std::string_view text, std::size_t columns, LongWord longer) {
  std::vector<std::string> lines(1);
  std::size_t used = 0;
  bool first = true;
  while (!text.empty()) {
    auto word = text.substr(0, text.find(' '));
    text.remove_prefix(std::min(word.size() + 1, text.size()));
    if (!first && used + 1 + columns_of(word) > columns) {
      lines.emplace_back();
      used = 0;
    } else if (!first) {
      lines.back() += ' ';
      ++used;
    }
    first = false;
    while (longer == LongWord::divided && columns_of(word) > columns && columns > 1) {
      const auto part = word.substr(0, bytes_within(word, columns));
      lines.back() += part;
      lines.emplace_back();
      word.remove_prefix(part.size());
    }
    lines.back() += word;
    used += columns_of(word);
  }
  return lines;
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
