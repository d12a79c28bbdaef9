// The wire format of Redis (RESP2): replies as values, and both directions as bytes.
//
// Everything works on bytes that may end anywhere, so that a simulated connection can be cut inside
// a command or inside an answer.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sim {

using Words = std::vector<std::string>;  // a command

struct Reply {
  enum class Kind { status, error, integer, bulk, nil, nil_array, array };
  Kind kind = Kind::nil;
  std::string text;  // of a status, an error or a bulk string
  std::int64_t integer = 0;
  std::vector<Reply> elements;

  bool operator==(const Reply&) const = default;
  [[nodiscard]] bool is_error() const { return kind == Kind::error; }

  static Reply ok() { return status("OK"); }
  static Reply status(std::string text) { return {Kind::status, std::move(text), 0, {}}; }
  static Reply error(std::string text) { return {Kind::error, std::move(text), 0, {}}; }
  static Reply number(std::int64_t number) { return {Kind::integer, {}, number, {}}; }
  static Reply bulk(std::string text) { return {Kind::bulk, std::move(text), 0, {}}; }
  static Reply nil() { return {}; }
  static Reply nil_array() { return {Kind::nil_array, {}, 0, {}}; }
  static Reply array(std::vector<Reply> elements) {
    return {Kind::array, {}, 0, std::move(elements)};
  }
  static Reply bulks(const Words& texts);
};

/// The bytes of an answer, as the server sends them.
std::string encode(const Reply& reply);
/// The bytes of a command, as a client sends them.
std::string encode(const Words& command);

/// For people: one line.
std::string shown(const Reply& reply);
std::string shown(const Words& command);

/// Takes bytes as they come, and gives whole commands or answers.
class RespReader {
 public:
  void feed(std::string_view bytes) { buffer_.append(bytes); }
  /// The next answer; nothing while it is not whole. Throws std::runtime_error at what is no RESP.
  std::optional<Reply> take_reply();
  /// The next command; nothing while it is not whole. Inline commands (without '*') do not exist
  /// here.
  std::optional<Words> take_command();
  [[nodiscard]] bool empty() const { return at_ == buffer_.size(); }

 private:
  std::optional<std::string_view> line(std::size_t& at) const;
  bool parse(std::size_t& at, Reply& into) const;
  void consume(std::size_t end);

  std::string buffer_;
  std::size_t at_ = 0;
};

}  // namespace sim
