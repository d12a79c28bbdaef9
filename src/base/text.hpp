// Text from outside, made fit for a terminal.
#pragma once

#include <string>
#include <string_view>

namespace base {

/// The same text with control characters (C0, DEL, C1), marks that turn the direction of writing
/// and bytes that are not UTF-8 written as \n, \t or \xHH, and a backslash as \\: what a server or
/// a user named can then be printed on a terminal, or put into JSON, whatever it is.
std::string printable(std::string_view text);

/// Whether it is well-formed UTF-8 without any of those.
bool is_printable(std::string_view text);

/// As printable(), but at most `most` bytes of the text, with "…" for the rest.
std::string printable(std::string_view text, std::size_t most);

/// For a whole line, parts of which are made printable already: as printable(), but a backslash
/// stays what it is.
std::string one_line(std::string_view text);

/// The beginning of it, at most `most` bytes; a UTF-8 character is not cut in two.
std::string_view cut_to(std::string_view text, std::size_t most);

/// How many columns of a terminal it takes: East Asian characters and emoji take two, marks none.
std::size_t columns_of(std::string_view text);

/// The beginning of it that fits into so many columns, with "…" for the rest.
std::string fit_columns(std::string_view text, std::size_t columns);
/// Its beginning and its end, with "…" between them.
std::string fit_middle(std::string_view text, std::size_t columns);

/// As one word that a POSIX shell reads back, for commands that people paste: quoted only if
/// needed.
std::string shell_word(std::string_view text);
/// The same for a line that is shown to be copied: what a terminal must not get is written as in
/// $'a\nb', which bash, zsh, ksh and newer POSIX shells read back.
std::string shown_shell_word(std::string_view text);

}  // namespace base
