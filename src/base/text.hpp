// Text from outside, made safe for a terminal.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace base {

/// Writes control characters (C0, DEL, C1), direction marks and bytes that are not UTF-8 as \n, \t
/// or \xHH, and a backslash as \\. A name from a server or a user is then safe on a terminal and in
/// JSON.
std::string printable(std::string_view text);

/// Whether the text is well-formed UTF-8 without any of those.
bool is_printable(std::string_view text);

/// As printable(), for at most `most` bytes of the text, with "…" for the rest.
std::string printable(std::string_view text, std::size_t most);

/// As printable(), but keeps backslashes: for a line with parts that are already printable.
std::string one_line(std::string_view text);

/// The first `most` bytes at most, without cutting a UTF-8 character in two.
std::string_view cut_to(std::string_view text, std::size_t most);

/// How many terminal columns the text takes: East Asian characters and emoji take two, marks none.
std::size_t columns_of(std::string_view text);

/// The beginning of the text that fits into that many columns, with "…" for the rest.
std::string fit_columns(std::string_view text, std::size_t columns);
/// The beginning and the end of the text, with "…" between them.
std::string fit_middle(std::string_view text, std::size_t columns);

/// A word that is longer than a line: it stays whole and sticks out, or is divided.
enum class LongWord { whole, divided };
/// The text in lines of at most that many columns, broken at blanks. At least one line.
std::vector<std::string> lines_within(std::string_view text, std::size_t columns, LongWord longer);

/// The text as one word for a POSIX shell, quoted only if necessary, for commands that people
/// paste.
std::string shell_word(std::string_view text);
/// The same for a line shown for copying: characters unsafe on a terminal are written as in
/// $'a\nb', which bash, zsh, ksh and newer POSIX shells read back.
std::string shown_shell_word(std::string_view text);

}  // namespace base
