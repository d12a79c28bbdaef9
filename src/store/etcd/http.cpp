// Source: RFC 9112, "HTTP/1.1".
#include "store/etcd/http.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <utility>

#include "base/fields.hpp"

namespace store::etcd {
namespace {

std::string lower(std::string_view text) {
  std::string out{text};
  std::transform(out.begin(), out.end(), out.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  return out;
}

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view blanks = " \t";
  const auto begin = std::min(text.find_first_not_of(blanks), text.size());
  text.remove_prefix(begin);
  return text.substr(0, text.find_last_not_of(blanks) + 1);
}

}  // namespace

std::string post_request(std::string_view host, std::string_view path, std::string_view token,
                         std::string_view body) {
  auto text = fmt::format(
      "POST {} HTTP/1.1\r\nHost: {}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n",
      path, host, body.size());
  // A member without a leader ends a stream that has this header, in place of being silent on it.
  text += "Grpc-Metadata-Hasleader: true\r\n";
  if (!token.empty()) text.append("Authorization: ").append(token).append("\r\n");
  return text.append("\r\n").append(body);
}

AnswerReader::Outcome AnswerReader::read(std::string& bytes) {
  std::string_view rest{bytes};
  Outcome outcome{base::Done{}};
  while (outcome && state_ != State::complete && !rest.empty()) {
    if (state_ == State::body || state_ == State::chunk) {
      const auto taken = take_bytes(rest);
      if (!taken) return taken.error();
      rest.remove_prefix(*taken);
      continue;
    }
    const auto end = rest.find('\n');
    if (end == std::string_view::npos) {
      if (rest.size() > longest_line) return std::string{"a header without an end"};
      break;
    }
    if (end > longest_line) return std::string{"a header that is too long"};
    auto line = rest.substr(0, end);
    if (line.ends_with('\r')) line.remove_suffix(1);
    rest.remove_prefix(end + 1);
    outcome = take_line(line);
  }
  bytes.erase(0, bytes.size() - rest.size());
  return outcome;
}

bool AnswerReader::end() {
  if (state_ == State::body && until_end_) state_ = State::complete;
  return is_complete();
}

AnswerReader::Outcome AnswerReader::take_line(std::string_view line) {
  switch (state_) {
    case State::status: return take_status(line);
    case State::header: return line.empty() ? end_head() : take_header(line);
    case State::chunk_size: return take_chunk_size(line);
    case State::chunk_end:
      if (!line.empty()) return std::string{"a chunk that is longer than it says"};
      state_ = State::chunk_size;
      break;
    case State::trailer:
      if (line.empty()) {
        state_ = State::complete;
      } else if (++headers_ > most_headers || (head_size_ += line.size()) > longest_head) {
        return std::string{"too many headers"};
      }
      break;
    case State::body:
    case State::chunk:
    case State::complete: break;
  }
  return base::Done{};
}

AnswerReader::Outcome AnswerReader::take_status(std::string_view line) {
  constexpr std::string_view version = "HTTP/1.";
  constexpr std::size_t before_status = version.size() + 2;  // and a digit, and a blank
  constexpr std::size_t digits = 3;
  const bool is_http =
      line.starts_with(version) && line.size() >= before_status + digits &&
      line[before_status - 1] == ' ' &&
      (line.size() == before_status + digits || line[before_status + digits] == ' ');
  const auto status =
      is_http ? base::number_in<int>(line.substr(before_status, digits)) : std::nullopt;
  constexpr int least = 100;
  constexpr int most = 599;
  if (!status || *status < least || *status > most) return std::string{"no HTTP/1.1 answer"};
  keeps_connection_ = line[version.size()] != '0';
  status_ = *status;
  state_ = State::header;
  return base::Done{};
}

AnswerReader::Outcome AnswerReader::take_header(std::string_view line) {
  if (++headers_ > most_headers || (head_size_ += line.size()) > longest_head) {
    return std::string{"too many headers"};
  }
  const auto colon = line.find(':');
  if (colon == std::string_view::npos) return std::string{"a header without a colon"};
  const auto name = lower(line.substr(0, colon));
  const auto value = trimmed(line.substr(colon + 1));
  if (name == "content-length") {
    const auto length = base::number_in<std::size_t>(value);
    if (!length || (has_length_ && *length != left_)) return std::string{"no length of the body"};
    has_length_ = true;
    left_ = *length;
  } else if (name == "transfer-encoding") {
    if (lower(value) != "chunked" || is_chunked_) return std::string{"an unknown encoding"};
    is_chunked_ = true;
  } else if (name == "connection") {
    if (lower(value).find("close") != std::string::npos) keeps_connection_ = false;
  }
  return base::Done{};
}

AnswerReader::Outcome AnswerReader::end_head() {
  // With two lengths, another reader would see other answers than we do.
  if (has_length_ && is_chunked_) return std::string{"two lengths of the body"};
  constexpr int final = 200;
  constexpr int no_content = 204;
  constexpr int not_modified = 304;
  if (status_ < final) {
    if (++interim_ > most_interim) return std::string{"no answer, only interim ones"};
    has_length_ = is_chunked_ = false;
    left_ = 0;
    state_ = State::status;
  } else if (status_ == no_content || status_ == not_modified) {
    state_ = State::complete;
  } else if (is_chunked_) {
    state_ = State::chunk_size;
  } else if (has_length_) {
    if (left_ > most_body_) return std::string{"an answer that is too long"};
    state_ = left_ > 0 ? State::body : State::complete;
  } else {
    until_end_ = true;
    keeps_connection_ = false;
    state_ = State::body;
  }
  return base::Done{};
}

AnswerReader::Outcome AnswerReader::take_chunk_size(std::string_view line) {
  const auto digits = trimmed(line.substr(0, line.find(';')));
  std::size_t size = 0;
  constexpr int hexadecimal = 16;
  const auto [end, error] =
      std::from_chars(digits.data(), digits.data() + digits.size(), size, hexadecimal);
  if (error != std::errc{} || end != digits.data() + digits.size()) {
    return std::string{"no length of a chunk"};
  }
  left_ = size;
  state_ = size > 0 ? State::chunk : State::trailer;
  return base::Done{};
}

base::Result<std::size_t, std::string> AnswerReader::take_bytes(std::string_view bytes) {
  const auto taken = until_end_ ? bytes.size() : std::min(bytes.size(), left_);
  if (taken > most_body_ - body_.size()) return std::string{"an answer that is too long"};
  body_.append(bytes.substr(0, taken));
  if (until_end_) return taken;
  left_ -= taken;
  if (left_ == 0) state_ = state_ == State::chunk ? State::chunk_end : State::complete;
  return taken;
}

}  // namespace store::etcd
