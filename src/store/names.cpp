#include "store/names.hpp"

#include <algorithm>

#include "base/fields.hpp"
#include "base/text.hpp"
#include "os/host.hpp"

namespace store {
namespace {

// No two claims, or tries of one claim, collide by chance.
constexpr std::size_t claim_bytes = 12;
constexpr std::size_t try_bytes = 8;
constexpr std::size_t nonce_bytes = claim_bytes + try_bytes;
constexpr std::size_t longest_label = 100;
// A foreign token is shown in one line of a table.
constexpr std::size_t longest_shown = 120;
// Our own tokens fit: three words and a pid. Other clients may imitate them.
constexpr std::size_t longest_of_ours = 3 * longest_label + 20;

bool fits(char c) {
  constexpr std::string_view separators = "#@/:";
  return c > 0x20 && c < 0x7F && separators.find(c) == std::string_view::npos;
}

std::string tame(std::string_view text) {
  std::string out{text.substr(0, longest_label)};
  std::replace_if(
      out.begin(), out.end(), [](char c) { return !fits(c); }, '_');
  return out.empty() ? "_" : out;
}

bool is_nonce(std::string_view text) {
  return text.size() == 2 * nonce_bytes &&
         text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

/// The token without the digits of the try.
std::string_view claim_of(std::string_view token) {
  return token.substr(0, token.size() - std::min(2 * try_bytes, token.size()));
}

}  // namespace

std::optional<LockName> LockName::from(std::string_view text) {
  if (text.empty() || text.size() > longest || text.find('\0') != std::string_view::npos) {
    return std::nullopt;
  }
  return LockName{std::string{text}};
}

std::optional<Label> Label::from(std::string_view text) {
  if (text.empty() || text.size() > longest_label || !base::is_printable(text)) return std::nullopt;
  return Label{std::string{text}};
}

Label Label::tamed(std::string_view text) {
  return Label{tame(text)};
}

std::optional<std::vector<std::string>> permit_names_in(std::string_view list) {
  constexpr std::size_t longest_text = 1024;
  constexpr std::size_t longest_name = 64;
  if (list.size() > longest_text) return std::nullopt;
  std::vector<std::string> names;
  for (;;) {
    const auto comma = std::min(list.find(','), list.size());
    const auto name = list.substr(0, comma);
    if (name.empty() || name.size() > longest_name || !base::is_printable(name)) {
      return std::nullopt;
    }
    if (std::find(names.begin(), names.end(), name) != names.end()) return std::nullopt;
    names.emplace_back(name);
    if (comma == list.size()) return names;
    list.remove_prefix(comma + 1);
  }
}

Token Token::mint(const Label& label) {
  // Asked once: a program may take many locks.
  static const std::string where = tame(os::user_name()) + '@' + tame(os::host_name()) + ':';
  return Token{where + std::to_string(os::process_id()) + '/' + label.text() + '#' +
               os::random_hex(nonce_bytes)};
}

Token Token::another() const {
  return Token{std::string{claim_of(text_)} + os::random_hex(try_bytes)};
}

bool Token::same_claim(const Token& other) const {
  return parts() && claim_of(text_) == claim_of(other.text_);
}

std::optional<TokenParts> Token::parts() const {
  const std::string_view text{text_};
  // Only the label may contain '#', '/', ':' or '@', and it ends at the last '#'.
  const auto hash = text.rfind('#');
  if (hash == std::string_view::npos || !is_nonce(text.substr(hash + 1))) return std::nullopt;
  const auto at = text.find('@');
  const auto slash = text.find('/', std::min(at, text.size()));
  if (at == std::string_view::npos || slash == std::string_view::npos || slash > hash) {
    return std::nullopt;
  }
  const auto colon = text.rfind(':', slash);
  if (colon == std::string_view::npos || colon < at) return std::nullopt;
  const auto pid = base::number_in<int>(text.substr(colon + 1, slash - colon - 1));
  if (!pid) return std::nullopt;
  return TokenParts{std::string{text.substr(0, at)},
                    std::string{text.substr(at + 1, colon - at - 1)}, *pid,
                    std::string{text.substr(slash + 1, hash - slash - 1)}};
}

std::string Token::shown() const {
  if (parts()) {
    return base::printable(std::string_view{text_}.substr(0, text_.rfind('#')), longest_of_ours);
  }
  return base::printable(text_, longest_shown);
}

}  // namespace store
