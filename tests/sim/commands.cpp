#include "commands.hpp"

#include <fnmatch.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <unordered_map>

namespace sim {
namespace {

// ---- every type ------------------------------------------------------------------------------

Reply del(Keyspace& keys, const Words& words) {
  std::int64_t count = 0;
  for (std::size_t i = 1; i < words.size(); ++i) count += keys.remove(words[i]) ? 1 : 0;
  return Reply::number(count);
}

Reply exists(Keyspace& keys, const Words& words) {
  std::int64_t count = 0;
  for (std::size_t i = 1; i < words.size(); ++i) count += keys.find(words[i]) != nullptr ? 1 : 0;
  return Reply::number(count);
}

Reply type(Keyspace& keys, const Words& words) {
  const Value* value = keys.find(words[1]);
  return Reply::status(value == nullptr ? "none" : type_name(*value));
}

// Its options NX, XX, GT and LT are not here: nobody uses them.
Reply pexpire(Keyspace& keys, const Words& words) {
  const auto length = integer_in(words[2]);
  if (!length) return Reply::error(errors::not_integer);
  if (*length > std::numeric_limits<std::int64_t>::max() - keys.now_ms()) {
    return Reply::error("ERR invalid expire time in 'pexpire' command");
  }
  if (words.size() > 3) return Reply::error("ERR Unsupported option " + words[3]);
  Value* value = keys.find(words[1]);
  if (value == nullptr) return Reply::number(0);
  value->ends_ms = keys.now_ms() + *length;
  if (*length <= 0) keys.remove(words[1]);
  return Reply::number(1);
}

Reply pttl(Keyspace& keys, const Words& words) {
  const Value* value = keys.find(words[1]);
  if (value == nullptr) return Reply::number(-2);
  return Reply::number(value->ends_ms ? *value->ends_ms - keys.now_ms() : -1);
}

Reply persist(Keyspace& keys, const Words& words) {
  Value* value = keys.find(words[1]);
  if (value == nullptr || !value->ends_ms) return Reply::number(0);
  value->ends_ms.reset();
  return Reply::number(1);
}

bool glob(const std::string& pattern, const std::string& text) {
  return ::fnmatch(pattern.c_str(), text.c_str(), 0) == 0;
}

Reply names(Keyspace& keys, const Words& words) {
  Reply reply = Reply::array({});
  for (auto& name : keys.names()) {
    if (glob(words[1], name)) reply.elements.push_back(Reply::bulk(std::move(name)));
  }
  return reply;
}

Reply dbsize(Keyspace& keys, const Words&) {
  return Reply::number(static_cast<std::int64_t>(keys.names().size()));
}

// One page has all: that is within the promise of SCAN.
Reply scan(Keyspace& keys, const Words& words) {
  std::string pattern = "*";
  if (words.size() % 2 != 0) return Reply::error(errors::syntax);
  for (std::size_t i = 2; i < words.size(); i += 2) {
    const auto option = lower(words[i]);
    if (option == "match") {
      pattern = words[i + 1];
    } else if (option != "count") {
      return Reply::error(errors::syntax);
    }
  }
  return Reply::array({Reply::bulk("0"), names(keys, {"keys", pattern})});
}

// ---- strings ---------------------------------------------------------------------------------

Reply get(Keyspace& keys, const Words& words) {
  const auto found = find<std::string>(keys, words[1]);
  if (found.bad) return Reply::error(errors::wrong_type);
  return found.content == nullptr ? Reply::nil() : Reply::bulk(*found.content);
}

// Without GET, EXAT and PXAT, which nobody uses.
Reply set(Keyspace& keys, const Words& words) {
  bool if_absent = false;
  bool if_there = false;
  bool keep = false;
  std::optional<std::string> length;
  std::int64_t unit = 1;
  for (std::size_t i = 3; i < words.size(); ++i) {
    const auto option = lower(words[i]);
    const bool more = i + 1 < words.size();
    if (option == "nx" && !if_there) {
      if_absent = true;
    } else if (option == "xx" && !if_absent) {
      if_there = true;
    } else if (option == "keepttl" && !length) {
      keep = true;
    } else if ((option == "px" || option == "ex") && more && !length && !keep) {
      unit = option == "ex" ? 1000 : 1;
      length = words[++i];
    } else {
      return Reply::error(errors::syntax);
    }
  }
  std::optional<std::int64_t> ends;
  if (length) {
    const auto number = integer_in(*length);
    if (!number) return Reply::error(errors::not_integer);
    const auto most = (std::numeric_limits<std::int64_t>::max() - keys.now_ms()) / unit;
    if (*number <= 0 || *number > most)
      return Reply::error("ERR invalid expire time in 'set' command");
    ends = keys.now_ms() + *number * unit;
  }
  const Value* before = keys.find(words[1]);
  if ((if_absent && before != nullptr) || (if_there && before == nullptr)) return Reply::nil();
  if (keep && before != nullptr) ends = before->ends_ms;
  keys.put(words[1], {words[2], ends});
  return Reply::ok();
}

// ---- lists -----------------------------------------------------------------------------------

Reply push(Keyspace& keys, const Words& words, bool left) {
  const auto found = make<List>(keys, words[1]);
  if (found.bad) return Reply::error(errors::wrong_type);
  for (std::size_t i = 2; i < words.size(); ++i) {
    if (left) {
      found.content->push_front(words[i]);
    } else {
      found.content->push_back(words[i]);
    }
  }
  return Reply::number(static_cast<std::int64_t>(found.content->size()));
}
Reply rpush(Keyspace& keys, const Words& words) {
  return push(keys, words, false);
}
Reply lpush(Keyspace& keys, const Words& words) {
  return push(keys, words, true);
}

Reply lpop(Keyspace& keys, const Words& words) {
  if (words.size() > 2) return Reply::error(errors::syntax);  // a count: nobody uses it
  const auto found = find<List>(keys, words[1]);
  if (found.bad) return Reply::error(errors::wrong_type);
  if (found.content == nullptr) return Reply::nil();
  Reply first = Reply::bulk(std::move(found.content->front()));
  found.content->pop_front();
  if (found.content->empty()) keys.remove(words[1]);
  return first;
}

Reply llen(Keyspace& keys, const Words& words) {
  const auto found = find<List>(keys, words[1]);
  if (found.bad) return Reply::error(errors::wrong_type);
  return Reply::number(found.content == nullptr ? 0
                                                : static_cast<std::int64_t>(found.content->size()));
}

Reply lrange(Keyspace& keys, const Words& words) {
  const auto first = integer_in(words[2]);
  const auto last = integer_in(words[3]);
  if (!first || !last) return Reply::error(errors::not_integer);
  const auto found = find<List>(keys, words[1]);
  if (found.bad) return Reply::error(errors::wrong_type);
  Reply reply = Reply::array({});
  if (found.content == nullptr) return reply;
  const auto [from, to] = bounds(*first, *last, found.content->size());
  for (auto i = from; i < to; ++i) reply.elements.push_back(Reply::bulk((*found.content)[i]));
  return reply;
}

/// Where -1 is the last one; nothing: there is none.
std::optional<std::size_t> place(std::int64_t index, std::size_t count) {
  const auto number = static_cast<std::int64_t>(count);
  if (index < 0) index += number;
  if (index < 0 || index >= number) return std::nullopt;
  return static_cast<std::size_t>(index);
}

Reply lindex(Keyspace& keys, const Words& words) {
  const auto found = find<List>(keys, words[1]);
  if (found.bad) return Reply::error(errors::wrong_type);
  if (found.content == nullptr) return Reply::nil();
  const auto index = integer_in(words[2]);
  if (!index) return Reply::error(errors::not_integer);
  const auto at = place(*index, found.content->size());
  return at ? Reply::bulk((*found.content)[*at]) : Reply::nil();
}

Reply lset(Keyspace& keys, const Words& words) {
  const auto found = find<List>(keys, words[1]);
  if (found.bad) return Reply::error(errors::wrong_type);
  if (found.content == nullptr) return Reply::error("ERR no such key");
  const auto index = integer_in(words[2]);
  if (!index) return Reply::error(errors::not_integer);
  const auto at = place(*index, found.content->size());
  if (!at) return Reply::error("ERR index out of range");
  (*found.content)[*at] = words[3];
  return Reply::ok();
}

Reply lrem(Keyspace& keys, const Words& words) {
  const auto most = integer_in(words[2]);
  if (!most) return Reply::error(errors::not_integer);
  const auto found = find<List>(keys, words[1]);
  if (found.bad) return Reply::error(errors::wrong_type);
  if (found.content == nullptr) return Reply::number(0);
  List& list = *found.content;
  const auto before = list.size();
  auto left = *most == 0 ? static_cast<std::int64_t>(before) : std::abs(*most);
  const bool from_end = *most < 0;
  if (from_end) std::reverse(list.begin(), list.end());
  std::erase_if(list, [&](const std::string& each) { return each == words[3] && left-- > 0; });
  if (from_end) std::reverse(list.begin(), list.end());
  const auto removed = before - list.size();
  if (list.empty()) keys.remove(words[1]);
  return Reply::number(static_cast<std::int64_t>(removed));
}

Reply ltrim(Keyspace& keys, const Words& words) {
  const auto first = integer_in(words[2]);
  const auto last = integer_in(words[3]);
  if (!first || !last) return Reply::error(errors::not_integer);
  const auto found = find<List>(keys, words[1]);
  if (found.bad) return Reply::error(errors::wrong_type);
  if (found.content == nullptr) return Reply::ok();
  const auto [from, to] = bounds(*first, *last, found.content->size());
  const auto begin = found.content->begin();
  List rest{begin + static_cast<std::ptrdiff_t>(from),
            begin + static_cast<std::ptrdiff_t>(std::max(from, to))};
  *found.content = std::move(rest);
  if (found.content->empty()) keys.remove(words[1]);
  return Reply::ok();
}

/// Names can be looked up as they come, without a copy.
struct Hash {
  using is_transparent = void;
  std::size_t operator()(std::string_view text) const {
    return std::hash<std::string_view>{}(text);
  }
};
using Rules = std::unordered_map<std::string, CommandRule, Hash, std::equal_to<>>;

const Rules& rules() {
  constexpr bool yes = true;
  constexpr bool no = false;
  static const Rules all = [] {
    Rules table{
        // name, {arity, writes, denied without memory, in scripts, act}
        {"dbsize", {1, no, no, yes, dbsize}},
        {"del", {-2, yes, no, yes, del}},
        {"exists", {-2, no, no, yes, exists}},
        {"get", {2, no, no, yes, get}},
        {"keys", {2, no, no, yes, names}},
        {"lindex", {3, no, no, yes, lindex}},
        {"llen", {2, no, no, yes, llen}},
        {"lpop", {-2, yes, no, yes, lpop}},
        {"lpush", {-3, yes, yes, yes, lpush}},
        {"lrange", {4, no, no, yes, lrange}},
        {"lrem", {4, yes, no, yes, lrem}},
        {"lset", {4, yes, yes, yes, lset}},
        {"ltrim", {4, yes, no, yes, ltrim}},
        {"persist", {2, yes, no, yes, persist}},
        {"pexpire", {-3, yes, no, yes, pexpire}},
        {"pttl", {2, no, no, yes, pttl}},
        {"rpush", {-3, yes, yes, yes, rpush}},
        {"scan", {-2, no, no, yes, scan}},
        {"set", {-3, yes, yes, yes, set}},
        {"type", {2, no, no, yes, type}},
        // Those of the server.
        {"asking", {1}},
        {"auth", {-2, no, no, no}},
        {"blpop", {-3, yes, no, no}},
        {"client", {-2, no, no, no}},
        {"cluster", {-2}},
        {"config", {-2, no, no, no}},
        {"eval", {-3, no, no, no}},
        {"evalsha", {-3, no, no, no}},
        {"flushall", {-1, yes}},
        {"info", {-1}},
        {"ping", {-1}},
        {"role", {1, no, no, no}},
        {"script", {-2, no, no, no}},
        {"select", {2}},
        {"time", {1}},
        {"wait", {3, no, no, no}},
    };
    for (const auto& [name, rule] : sorted_set_rules()) table.emplace(name, rule);
    return table;
  }();
  return all;
}

}  // namespace

const CommandRule* rule_of(std::string_view name) {
  // Clients write capitals or not, but each the same.
  static std::unordered_map<std::string, const CommandRule*, Hash, std::equal_to<>> seen;
  if (const auto known = seen.find(name); known != seen.end()) return known->second;
  const auto found = rules().find(lower(name));
  if (found != rules().end()) seen.emplace(name, &found->second);
  return found == rules().end() ? nullptr : &found->second;
}

bool fits(const CommandRule& rule, const Words& command) {
  const auto count = static_cast<int>(command.size());
  return rule.arity >= 0 ? count == rule.arity : count >= -rule.arity;
}

std::string lower(std::string_view text) {
  std::string result{text};
  for (char& c : result) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return result;
}

std::optional<std::int64_t> integer_in(std::string_view text) {
  std::int64_t number = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (failed != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  // Numbers that from_chars() reads and Redis never writes: with a leading zero, and -0.
  const auto digits = text.substr(text.front() == '-' ? 1 : 0);
  if (digits.front() == '0' && text.size() > 1) return std::nullopt;
  return number;
}

std::optional<double> real_in(const std::string& text) {
  if (text.empty() || std::isspace(static_cast<unsigned char>(text.front())) != 0)
    return std::nullopt;
  if (text.size() < 16) {
    std::int64_t number = 0;
    const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (failed == std::errc{} && end == text.data() + text.size() && text.front() != '-') {
      return static_cast<double>(number);
    }
  }
  char* end = nullptr;
  errno = 0;
  const double number = std::strtod(text.c_str(), &end);
  if (end != text.c_str() + text.size() || std::isnan(number)) return std::nullopt;
  if (errno == ERANGE && (std::isinf(number) || number == 0)) return std::nullopt;
  return number;
}

std::pair<std::size_t, std::size_t> bounds(std::int64_t first, std::int64_t last,
                                           std::size_t count) {
  const auto size = static_cast<std::int64_t>(count);
  if (first < 0) first = std::max<std::int64_t>(first + size, 0);
  if (last < 0) last += size;
  last = std::min(last, size - 1);
  if (first > last) return {0, 0};
  return {static_cast<std::size_t>(first), static_cast<std::size_t>(last) + 1};
}

}  // namespace sim
