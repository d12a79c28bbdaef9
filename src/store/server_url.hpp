// The URLs that name servers, with their secrets: what is shown of them, and what argv must hide.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace store {

/// What somebody wrote to name a server: one URL, or those of a quorum with blanks between them; it
/// need not be a good one. Only safe texts come out of it, but for reveal(), which is easy to find
/// in a review: no stream operator, no fmt formatter, no implicit conversion.
class ServerUrl {
 public:
  explicit ServerUrl(std::string text);

  /// For messages: without_secret(), made printable; with a bound, at most so many bytes of it.
  [[nodiscard]] std::string shown() const;
  [[nodiscard]] std::string shown(std::size_t most) const;
  /// The text without what might be a secret. A good URL stays one: it loses user names and
  /// passwords. What may be one in a garbled URL becomes "…"; such a part stays only if it cannot
  /// be a password: a host, the number of a port.
  [[nodiscard]] const std::string& without_secret() const { return without_secret_; }
  /// The text with its secrets: to connect, or for a job that is to connect.
  [[nodiscard]] const std::string& reveal() const { return text_; }

  /// One for each URL in it. If not each word is a URL, the whole text is one.
  [[nodiscard]] std::vector<ServerUrl> each() const;

 private:
  std::string text_;
  std::string without_secret_{};
};

/// From `begin` up to, but not including, `end`.
struct TextRange {
  std::size_t begin;
  std::size_t end;
  bool operator==(const TextRange&) const = default;
};
/// Where passwords of URLs, and the user infos that hold them, stand in one word of a command line,
/// which may be a URL, or an option with one attached.
std::vector<TextRange> secrets_in(std::string_view word);

}  // namespace store
