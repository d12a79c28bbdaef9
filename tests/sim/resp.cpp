#include "resp.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <stdexcept>

namespace sim {
namespace {

std::int64_t number_in(std::string_view text) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size()) {
    throw std::runtime_error{fmt::format("no RESP: '{}' is not a number", text)};
  }
  return number;
}

void append(std::string& out, char kind, std::int64_t number) {
  std::array<char, 24> text{};
  const auto end = std::to_chars(text.data(), text.data() + text.size(), number).ptr;
  out += kind;
  out.append(text.data(), end);
  out += "\r\n";
}

void append(std::string& out, const Reply& reply) {
  switch (reply.kind) {
    case Reply::Kind::status: (out += '+').append(reply.text) += "\r\n"; return;
    case Reply::Kind::error: (out += '-').append(reply.text) += "\r\n"; return;
    case Reply::Kind::integer: append(out, ':', reply.integer); return;
    case Reply::Kind::nil: out += "$-1\r\n"; return;
    case Reply::Kind::nil_array: out += "*-1\r\n"; return;
    case Reply::Kind::bulk:
      append(out, '$', static_cast<std::int64_t>(reply.text.size()));
      out.append(reply.text) += "\r\n";
      return;
    case Reply::Kind::array:
      append(out, '*', static_cast<std::int64_t>(reply.elements.size()));
      for (const Reply& each : reply.elements) append(out, each);
  }
}

std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    const bool plain = c >= ' ' && c < 127 && c != '"' && c != '\\';
    out += plain ? std::string{c} : fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
  }
  return out + '"';
}

}  // namespace

Reply Reply::bulks(const Words& texts) {
  Reply reply = array({});
  for (const std::string& text : texts) reply.elements.push_back(bulk(text));
  return reply;
}

std::string encode(const Reply& reply) {
  std::string out;
  append(out, reply);
  return out;
}

std::string encode(const Words& command) {
  return encode(Reply::bulks(command));
}

std::string shown(const Reply& reply) {
  switch (reply.kind) {
    case Reply::Kind::status: return '+' + reply.text;
    case Reply::Kind::error: return '-' + reply.text;
    case Reply::Kind::integer: return std::to_string(reply.integer);
    case Reply::Kind::nil: return "nil";
    case Reply::Kind::nil_array: return "nil-array";
    case Reply::Kind::bulk: return quoted(reply.text);
    case Reply::Kind::array: break;
  }
  std::string out = "[";
  for (const Reply& each : reply.elements) {
    if (out.size() > 1) out += ", ";
    out += shown(each);
  }
  return out + ']';
}

std::string shown(const Words& command) {
  std::string out;
  for (const std::string& word : command) {
    const bool plain =
        !word.empty() && word.size() < 100 && word.find_first_of(" \"\\\r\n") == std::string::npos;
    out += (out.empty() ? "" : " ") + (plain ? word : quoted(word.substr(0, 100)));
  }
  return out;
}

std::optional<std::string_view> RespReader::line(std::size_t& at) const {
  const auto end = buffer_.find("\r\n", at);
  if (end == std::string::npos) return std::nullopt;
  const auto text = std::string_view{buffer_}.substr(at, end - at);
  at = end + 2;
  if (text.empty()) throw std::runtime_error{"no RESP: an empty line"};
  return text;
}

bool RespReader::parse(std::size_t& at, Reply& into) const {
  const auto head = line(at);
  if (!head) return false;
  const auto rest = head->substr(1);
  switch (head->front()) {
    case '+': into = Reply::status(std::string{rest}); return true;
    case '-': into = Reply::error(std::string{rest}); return true;
    case ':': into = Reply::number(number_in(rest)); return true;
    case '$': {
      const auto size = number_in(rest);
      if (size < 0) {
        into = Reply::nil();
        return true;
      }
      const auto length = static_cast<std::size_t>(size);
      if (buffer_.size() < at + length + 2) return false;
      into = Reply::bulk(buffer_.substr(at, length));
      at += length + 2;
      return true;
    }
    case '*': {
      const auto size = number_in(rest);
      into = size < 0 ? Reply::nil_array() : Reply::array({});
      for (std::int64_t i = 0; i < size; ++i) {
        if (!parse(at, into.elements.emplace_back())) return false;
      }
      return true;
    }
    default: throw std::runtime_error{"no RESP: " + quoted(*head)};
  }
}

void RespReader::consume(std::size_t end) {
  at_ = end;
  if (at_ == buffer_.size() || at_ > 1 << 16) {
    buffer_.erase(0, at_);
    at_ = 0;
  }
}

std::optional<Reply> RespReader::take_reply() {
  std::size_t at = at_;
  Reply reply;
  if (!parse(at, reply)) return std::nullopt;
  consume(at);
  return reply;
}

std::optional<Words> RespReader::take_command() {
  std::size_t at = at_;
  auto head = line(at);
  if (!head) return std::nullopt;
  if (head->front() != '*') throw std::runtime_error{"a command is an array"};
  const auto count = number_in(head->substr(1));
  Words command;
  // A client says how many, and may not be believed.
  command.reserve(static_cast<std::size_t>(std::clamp<std::int64_t>(count, 0, 64)));
  for (std::int64_t i = 0; i < count; ++i) {
    head = line(at);
    if (!head) return std::nullopt;
    if (head->front() != '$') throw std::runtime_error{"a command is of bulk strings"};
    const auto size = number_in(head->substr(1));
    if (size < 0) throw std::runtime_error{"a command is of bulk strings"};
    const auto length = static_cast<std::size_t>(size);
    if (buffer_.size() < at + length + 2) return std::nullopt;
    command.emplace_back(buffer_, at, length);
    at += length + 2;
  }
  consume(at);
  return command;
}

}  // namespace sim
