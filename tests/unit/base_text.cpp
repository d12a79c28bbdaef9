#include "base/text.hpp"

#include <doctest/doctest.h>

#include <string>
#include <string_view>

namespace unit::base_text {

using base::is_printable;
using base::one_line;
using base::printable;
using base::shell_word;
using base::shown_shell_word;

namespace {

struct Row {
  std::string_view raw;
  std::string_view shown;
};

using namespace std::string_view_literals;

// Unicode 15, table 3-7: the first and last well-formed sequence of each row, and their neighbours.
constexpr Row ill_formed[] = {
    {"\x80", "\\x80"},           // a continuation alone
    {"\xBF", "\\xbf"},           //
    {"\xC0\x80", "\\xc0\\x80"},  // overlong NUL
    {"\xC1\xBF", "\\xc1\\xbf"},  // overlong DEL
    {"\xC2", "\\xc2"},           // cut
    {"\xC2\x41",
     "\\xc2"
     "A"},                                // not continued
    {"\xC2\x80", "\\xc2\\x80"},           // a C1 control
    {"\xC2\x9F", "\\xc2\\x9f"},           // the last of them
    {"\xE0\x9F\xBF", "\\xe0\\x9f\\xbf"},  // overlong
    {"\xE0\xA0", "\\xe0\\xa0"},           // cut
    {"\xE0\xA0\x41",
     "\\xe0\\xa0"
     "A"},  // not continued
    {"\xE1\x41\x80",
     "\\xe1"
     "A"
     "\\x80"},                                     // not continued at once
    {"\xED\xA0\x80", "\\xed\\xa0\\x80"},           // a surrogate
    {"\xED\xBF\xBF", "\\xed\\xbf\\xbf"},           //
    {"\xF0\x8F\xBF\xBF", "\\xf0\\x8f\\xbf\\xbf"},  // overlong
    {"\xF0\x90\x80", "\\xf0\\x90\\x80"},           // cut
    {"\xF0\x90\x80\x41",
     "\\xf0\\x90\\x80"
     "A"},                                         // not continued
    {"\xF4\x90\x80\x80", "\\xf4\\x90\\x80\\x80"},  // beyond U+10FFFF
    {"\xF5\x80\x80\x80", "\\xf5\\x80\\x80\\x80"},  // no lead byte
    {"\xFF", "\\xff"},
};

constexpr std::string_view well_formed[] = {
    "",
    " ",
    "~",
    "rlock",
    "\xC2\xA0",
    "\xC3\xBC",
    "\xDF\xBF",
    "\xE0\xA0\x80",
    "\xE2\x82\xAC",
    "\xED\x9F\xBF",
    "\xEE\x80\x80",
    "\xEF\xBF\xBD",
    "\xF0\x90\x80\x80",
    "\xF0\x9F\x94\x92",
    "\xF4\x8F\xBF\xBF",
};

constexpr Row deceptive[] = {
    {"\xD8\x9C", "\\xd8\\x9c"},           // U+061C, Arabic letter mark
    {"\xE2\x80\x8E", "\\xe2\\x80\\x8e"},  // U+200E
    {"\xE2\x80\x8F", "\\xe2\\x80\\x8f"},  // U+200F
    {"\xE2\x80\xA8", "\\xe2\\x80\\xa8"},  // U+2028, line separator
    {"\xE2\x80\xAE", "\\xe2\\x80\\xae"},  // U+202E, right-to-left override
    {"\xE2\x81\xA6", "\\xe2\\x81\\xa6"},  // U+2066
    {"\xE2\x81\xA9", "\\xe2\\x81\\xa9"},  // U+2069
};

constexpr std::string_view next_to_deceptive[] = {
    "\xD8\x9B",      // U+061B
    "\xD8\x9D",      // U+061D
    "\xE2\x80\x8D",  // U+200D, a joiner that emoji need
    "\xE2\x80\x90",  // U+2010
    "\xE2\x80\xA7",  // U+2027
    "\xE2\x80\xAF",  // U+202F
    "\xE2\x81\xA5",  // U+2065
    "\xE2\x81\xAA",  // U+206A
};

}  // namespace

TEST_CASE("well-formed text is printed as it is") {
  for (const auto text : well_formed) {
    CAPTURE(text);
    CHECK(printable(text) == text);
    CHECK(one_line(text) == text);
    CHECK(is_printable(text));
  }
}

TEST_CASE("bytes that are no UTF-8 are printed as numbers") {
  for (const auto& row : ill_formed) {
    CAPTURE(row.shown);
    CHECK(printable(row.raw) == row.shown);
    CHECK(one_line(row.raw) == row.shown);
    CHECK_FALSE(is_printable(row.raw));
  }
}

TEST_CASE("marks that turn the direction of writing are printed as numbers") {
  for (const auto& row : deceptive) {
    CAPTURE(row.shown);
    CHECK(printable(row.raw) == row.shown);
    CHECK_FALSE(is_printable(row.raw));
  }
  for (const auto text : next_to_deceptive) {
    CAPTURE(printable(text));
    CHECK(is_printable(text));
  }
}

TEST_CASE("control characters never reach a terminal") {
  CHECK(printable("\x1b[2J") == "\\x1b[2J");
  CHECK(printable("a\nb\tc") == "a\\nb\\tc");
  CHECK(printable("\r") == "\\x0d");
  CHECK(printable("\x7f") == "\\x7f");
  CHECK(printable("\0"sv) == "\\x00");
  CHECK(printable("\x1f") == "\\x1f");
  for (int byte = 0; byte < 0x20; ++byte) {
    CHECK_FALSE(is_printable(std::string(1, static_cast<char>(byte))));
  }
  CHECK_FALSE(is_printable("\x7f"));
  CHECK_FALSE(is_printable("key\n"));
}

TEST_CASE("a backslash is doubled, but not in a line that is printable already") {
  CHECK(printable("a\\x41") == "a\\\\x41");
  CHECK(one_line("a\\x41") == "a\\x41");
  CHECK(one_line("a\\\n") == "a\\\\n");
}

TEST_CASE("printable text tells different texts apart") {
  CHECK(printable("\n") != printable("\\n"));
  CHECK(printable("\x1b") != printable("\\x1b"));
}

TEST_CASE("a long text is cut, and says so") {
  CHECK(printable("abcdef", 6) == "abcdef");
  CHECK(printable("abcdefg", 6) == "abcdef\xE2\x80\xA6");
  CHECK(printable("", 0).empty());
  CHECK(printable("x", 0) == "\xE2\x80\xA6");
}

TEST_CASE("text is broken at blanks, and a word only if it is to be divided") {
  using base::LongWord;
  using Lines = std::vector<std::string>;
  CHECK(base::lines_within("", 5, LongWord::whole) == Lines{""});
  CHECK(base::lines_within("one two", 7, LongWord::whole) == Lines{"one two"});
  CHECK(base::lines_within("one two", 6, LongWord::whole) == Lines{"one", "two"});
  CHECK(base::lines_within("a longer b", 4, LongWord::whole) == Lines{"a", "longer", "b"});
  CHECK(base::lines_within("a longer b", 4, LongWord::divided) == Lines{"a", "long", "er b"});
  CHECK(base::lines_within("数据库 x", 4, LongWord::divided) == Lines{"数据", "库 x"});
  CHECK(base::lines_within("\xC3\xA4\xC3\xB6 x", 4, LongWord::whole) ==
        Lines{"\xC3\xA4\xC3\xB6 x"});
  CHECK(base::lines_within("abc", 1, LongWord::divided) == Lines{"abc"});
}

TEST_CASE("a word for a shell is quoted only if it must be") {
  CHECK(shell_word("plain-Word_1.2/3:4@5%6+7=8,9") == "plain-Word_1.2/3:4@5%6+7=8,9");
  CHECK(shell_word("") == "''");
  CHECK(shell_word("two words") == "'two words'");
  CHECK(shell_word("it's") == "'it'\\''s'");
  CHECK(shell_word("$(rm)") == "'$(rm)'");
  CHECK(shell_word("~") == "'~'");
  CHECK(shell_word("a\nb") == "'a\nb'");
  CHECK(shown_shell_word("it's") == "'it'\\''s'");
  CHECK(shown_shell_word("back\\slash") == "'back\\slash'");
  CHECK(shown_shell_word("a'\n\\b") == "$'a\\'\\n\\\\b'");
  CHECK(shown_shell_word("\xff") == "$'\\xff'");
  CHECK(shell_word("\xC3\xBC") == "'\xC3\xBC'");
}

}  // namespace unit::base_text
