// Requests and answers of HTTP/1.1, as far as etcd's JSON gateway needs them. No socket.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/result.hpp"

namespace store::etcd {

/// A POST of JSON. `host` is the value of its header; no token: no such header. `token` and `host`
/// contain no control characters.
std::string post_request(std::string_view host, std::string_view path, std::string_view token,
                         std::string_view body);

/// Reads one answer from bytes as they arrive. Everything in it is bounded: a broken or hostile
/// server must not take our memory.
class AnswerReader {
 public:
  static constexpr std::size_t longest_line = std::size_t{8} << 10;
  static constexpr std::size_t longest_head = std::size_t{32} << 10;
  static constexpr int most_headers = 100;
  static constexpr int most_interim = 8;  // answers 1xx before the real one

  /// `most_body`: the bytes of the body that may be there at one time, see take_body().
  explicit AnswerReader(std::size_t most_body) : most_body_{most_body} {}

  /// Removes the bytes of this answer from the front of `bytes`; the error says what is wrong.
  base::Result<base::Done, std::string> read(std::string& bytes);
  /// The connection has ended; whether the answer is complete.
  bool end();

  [[nodiscard]] bool is_complete() const { return state_ == State::complete; }
  /// The status and all headers have arrived.
  [[nodiscard]] bool has_head() const { return state_ != State::status && state_ != State::header; }
  [[nodiscard]] int status() const { return status_; }
  /// Whether another request may follow on the connection.
  [[nodiscard]] bool keeps_connection() const { return keeps_connection_; }
  /// The body that has arrived since the last call.
  std::string take_body() { return std::exchange(body_, {}); }

 private:
  enum class State {
    status,
    header,
    body,        // of a known length, or until the end
    chunk_size,  // the line before a chunk
    chunk,
    chunk_end,  // the empty line behind it
    trailer,
    complete
  };
  using Outcome = base::Result<base::Done, std::string>;

  Outcome take_line(std::string_view line);
  Outcome take_status(std::string_view line);
  Outcome take_header(std::string_view line);
  Outcome end_head();
  Outcome take_chunk_size(std::string_view line);
  /// How many bytes of the body were taken.
  base::Result<std::size_t, std::string> take_bytes(std::string_view bytes);

  std::size_t most_body_;
  State state_ = State::status;
  int status_ = 0;
  bool keeps_connection_ = true;
  bool has_length_ = false;
  bool is_chunked_ = false;
  bool until_end_ = false;
  std::size_t left_ = 0;  // of the body or the chunk
  std::size_t head_size_ = 0;
  int headers_ = 0;
  int interim_ = 0;
  std::string body_;
};

}  // namespace store::etcd
