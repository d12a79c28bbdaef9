#include "store/names.hpp"

#include <algorithm>
#include <charconv>

#include "base/text.hpp"
#include "os/host.hpp"
#include "os/random.hpp"

namespace store {
namespace {

// 160 bits: two claims never meet by chance.
constexpr std::size_t nonce_bytes = 20;
constexpr std::size_t longest_label = 100;
// A foreign token is shown in one line of a table.
constexpr std::size_t longest_shown = 120;

bool fits(char c) {
  return c > 0x20 && c < 0x7F && c != '#';
}

std::string tame(std::string_view text) {
  std::string out{text.substr(0, longest_label)};
  std::replace_if(out.begin(), out.end(), [](char c) { return !fits(c); }, '_');
  return out.empty() ? "_" : out;
}

bool is_nonce(std::string_view text) {
  return text.size() == 2 * nonce_bytes &&
         text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

}  // namespace

std::optional<LockName> LockName::from(std::string_view text) {
  if (text.empty() || text.size() > longest || text.find('\0') != std::string_view::npos) {
    return std::nullopt;
  }
  return LockName{std::string{text}};
}

std::optional<Label> Label::from(std::string_view text) {
  const bool valid = std::all_of(text.begin(), text.end(), [](char c) { return c == ' ' || fits(c); });
  if (text.empty() || text.size() > longest_label || !valid) return std::nullopt;
  return Label{std::string{text}};
}

Label Label::tamed(std::string_view text) {
  return Label{tame(text)};
}

Token Token::mint(const Label& label) {
  return Token{tame(os::user_name()) + '@' + tame(os::host_name()) + ':' +
               std::to_string(os::process_id()) + '/' + label.text() + '#' +
               os::random_hex(nonce_bytes)};
}

std::optional<Holder> Token::holder() const {
  const std::string_view text{text_};
  // '#' is in no part but at its end; the label may hold anything else, so cut it off first.
  const auto hash = text.rfind('#');
  if (hash == std::string_view::npos || !is_nonce(text.substr(hash + 1))) return std::nullopt;
  const auto slash = text.find('/', text.find('@'));
  const auto colon = text.rfind(':', slash);
  const auto at = text.rfind('@', colon);
  if (slash == std::string_view::npos || slash > hash || colon == std::string_view::npos ||
      at == std::string_view::npos) {
    return std::nullopt;
  }
  int pid = 0;
  const char* end = text.data() + slash;
  const auto [stop, error] = std::from_chars(text.data() + colon + 1, end, pid);
  if (error != std::errc{} || stop != end) return std::nullopt;
  return Holder{std::string{text.substr(0, at)}, std::string{text.substr(at + 1, colon - at - 1)},
                pid, std::string{text.substr(slash + 1, hash - slash - 1)}};
}

std::string Token::shown() const {
  if (holder()) return base::printable(std::string_view{text_}.substr(0, text_.rfind('#')));
  return base::printable(text_, longest_shown);
}

}  // namespace store
