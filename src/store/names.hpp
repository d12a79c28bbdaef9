// Names of locks and of their holders, valid by construction.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace store {

/// The key of a lock: 1 to 1024 bytes without NUL.
class LockName {
 public:
  static constexpr std::size_t longest = 1024;
  static std::optional<LockName> from(std::string_view text);

  [[nodiscard]] const std::string& text() const { return text_; }
  auto operator<=>(const LockName&) const = default;

 private:
  explicit LockName(std::string text) : text_{std::move(text)} {}
  std::string text_;
};

/// The public description of a holder: 1 to 100 bytes of printable text.
class Label {
 public:
  static constexpr std::size_t longest = 100;
  static constexpr std::string_view accepted =
      "printable UTF-8, of which the first 100 bytes count";
  static std::optional<Label> from(std::string_view text);
  /// From any text, e.g. a command's base name: anything but plain ASCII becomes '_'.
  static Label tamed(std::string_view text);

  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  explicit Label(std::string text) : text_{std::move(text)} {}
  std::string text_;
};

/// The names of permits from a list with commas: each 1 to 64 bytes of printable text, no
/// duplicates, 1024 bytes in all. Nothing for any other list.
std::optional<std::vector<std::string>> permit_names_in(std::string_view list);
inline constexpr std::string_view accepted_permit_names =
    "NAME[,NAME]... with no name twice, each of 1 to 64 bytes of printable text, 1024 bytes in all";

/// The maker of a token, as the token states it.
struct TokenParts {
  std::string user;
  std::string host;
  int pid;
  std::string label;
};

/// The value of a held key: `user@host:pid/label#<40 hex digits from the kernel>`. It is unique for
/// every try of every claim, so knowing it proves holding the lock.
class Token {
 public:
  /// A fresh token for this process.
  static Token mint(const Label& label);
  /// A token of the same claim for another try, which late messages about the earlier try do not
  /// match.
  [[nodiscard]] Token another() const;
  /// Whether one is another() of the other, or both are equal.
  [[nodiscard]] bool same_claim(const Token& other) const;
  /// Any text: the value that another client of the key wrote also counts as a token.
  static Token foreign(std::string text) { return Token{std::move(text)}; }

  [[nodiscard]] const std::string& text() const { return text_; }
  /// Nothing if rlock did not mint the token.
  [[nodiscard]] std::optional<TokenParts> parts() const;
  /// For people: "user@host:pid/label", or the foreign text, made printable and shortened.
  [[nodiscard]] std::string shown() const;

  auto operator<=>(const Token&) const = default;

 private:
  explicit Token(std::string text) : text_{std::move(text)} {}
  std::string text_;
};

}  // namespace store
