// The URLs of servers, with their secrets: which parts are shown, and which argv must hide.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace store {

/// A user's text that names a server: one URL, or those of a quorum separated by blanks; it may be
/// invalid. It yields only safe texts, except by reveal(), which is easy to find in a review: no
/// stream operator, no fmt formatter, no implicit conversion.
class ServerUrl {
 public:
  explicit ServerUrl(std::string text);

  /// For messages: without_secret(), made printable; at most `most` bytes of it.
  [[nodiscard]] std::string shown() const;
  [[nodiscard]] std::string shown(std::size_t most) const;
  /// The text without anything that may be a secret. A valid URL stays valid: it loses user names
  /// and passwords. In a garbled URL each such part becomes "…", unless it cannot be a password: a
  /// host, or the number of a port.
  [[nodiscard]] const std::string& without_secret() const { return without_secret_; }
  /// The text with its secrets: to connect, or for a job that connects.
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
/// The positions of URL passwords, and of the user infos that contain them, in one word of a
/// command line: a URL, or an option with one attached.
std::vector<TextRange> secrets_in(std::string_view word);

}  // namespace store
