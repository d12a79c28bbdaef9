// Text made fit for a terminal and for a shell.
#include "property.hpp"

namespace {

/// The value that a POSIX shell reads from a word.
std::string unquoted(std::string_view word) {
  std::string out;
  bool quoted = false;
  for (std::size_t i = 0; i < word.size(); ++i) {
    if (word[i] == '\'') {
      quoted = !quoted;
    } else if (word[i] == '\\' && !quoted) {
      out += word[++i];
    } else {
      out += word[i];
    }
  }
  return out;
}

bool obeyed_by_terminals(std::string_view text) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<std::uint8_t>(text[i]);
    if (byte < 0x20 || byte == 0x7F) return true;
    if (byte == 0xC2 && i + 1 < text.size() && static_cast<std::uint8_t>(text[i + 1]) < 0xA0) {
      return true;
    }
  }
  return text.find("\xE2\x80\xAE") != std::string_view::npos;  // the right-to-left override
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto text = fuzz::text_of(data, size);
  const std::string shown = base::printable(text);
  fuzz::promise(!obeyed_by_terminals(shown), "no terminal obeys it");
  fuzz::promise(base::is_printable(shown), "it is printable");
  fuzz::promise(shown.size() <= 4 * size, "at most four bytes for one");
  fuzz::promise(base::printable(text, 10).size() <= 4 * 10 + 3, "it can be cut");
  const std::string line = base::one_line(text);
  fuzz::promise(base::is_printable(line) && base::one_line(line) == line,
                "a line stays what it is");
  if (base::is_printable(text)) fuzz::promise(line == text, "what is printable is not changed");
  fuzz::promise(unquoted(base::shell_word(text)) == text, "a shell reads the word back");
  return 0;
}
