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

Reply error(const char* text) {
  return Reply::error(text);
}

/// The value of that type at a key; `bad` if there is another.
template <typename Content>
struct Found {
  Content* content = nullptr;
  bool bad = false;
};
template <typename Content>
Found<Content> find(Keyspace& keys, const std::string& key) {
  Value* value = keys.find(key);
  if (value == nullptr) return {};
  auto* content = std::get_if<Content>(&value->content);
  return {content, content == nullptr};
}
/// That one, or a new one.
template <typename Content>
Found<Content> make(Keyspace& keys, const std::string& key) {
  auto found = find<Content>(keys, key);
  if (found.content != nullptr || found.bad) return found;
  keys.put(key, {Content{}, std::nullopt});
  if constexpr (std::is_same_v<Content, List>) keys.note_new_list(key);
  return find<Content>(keys, key);
}

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
  if (!length) return error(errors::not_integer);
  if (*length > std::numeric_limits<std::int64_t>::max() - keys.now_ms()) {
    return error("ERR invalid expire time in 'pexpire' command");
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
  if (words.size() % 2 != 0) return error(errors::syntax);
  for (std::size_t i = 2; i < words.size(); i += 2) {
    const auto option = lower(words[i]);
    if (option == "match") {
      pattern = words[i + 1];
    } else if (option != "count") {
      return error(errors::syntax);
    }
  }
  return Reply::array({Reply::bulk("0"), names(keys, {"keys", pattern})});
}

// ---- strings ---------------------------------------------------------------------------------

Reply get(Keyspace& keys, const Words& words) {
  const auto found = find<std::string>(keys, words[1]);
  if (found.bad) return error(errors::wrong_type);
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
      return error(errors::syntax);
    }
  }
  std::optional<std::int64_t> ends;
  if (length) {
    const auto number = integer_in(*length);
    if (!number) return error(errors::not_integer);
    const auto most = (std::numeric_limits<std::int64_t>::max() - keys.now_ms()) / unit;
    if (*number <= 0 || *number > most) return error("ERR invalid expire time in 'set' command");
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
  if (found.bad) return error(errors::wrong_type);
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
  if (words.size() > 2) return error(errors::syntax);  // a count: nobody uses it
  const auto found = find<List>(keys, words[1]);
  if (found.bad) return error(errors::wrong_type);
  if (found.content == nullptr) return Reply::nil();
  Reply first = Reply::bulk(std::move(found.content->front()));
  found.content->pop_front();
  if (found.content->empty()) keys.remove(words[1]);
  return first;
}

Reply llen(Keyspace& keys, const Words& words) {
  const auto found = find<List>(keys, words[1]);
  if (found.bad) return error(errors::wrong_type);
  return Reply::number(found.content == nullptr ? 0
                                                : static_cast<std::int64_t>(found.content->size()));
}

/// From and to (behind the last one), of so many.
std::pair<std::size_t, std::size_t> bounds(std::int64_t first, std::int64_t last,
                                           std::size_t count) {
  const auto size = static_cast<std::int64_t>(count);
  if (first < 0) first = std::max<std::int64_t>(first + size, 0);
  if (last < 0) last += size;
  last = std::min(last, size - 1);
  if (first > last) return {0, 0};
  return {static_cast<std::size_t>(first), static_cast<std::size_t>(last) + 1};
}

Reply lrange(Keyspace& keys, const Words& words) {
  const auto first = integer_in(words[2]);
  const auto last = integer_in(words[3]);
  if (!first || !last) return error(errors::not_integer);
  const auto found = find<List>(keys, words[1]);
  if (found.bad) return error(errors::wrong_type);
  Reply reply = Reply::array({});
  if (found.content == nullptr) return reply;
  const auto [from, to] = bounds(*first, *last, found.content->size());
  for (auto i = from; i < to; ++i) reply.elements.push_back(Reply::bulk((*found.content)[i]));
  return reply;
}

// ---- sorted sets -----------------------------------------------------------------------------

// Without its options, which nobody uses.
Reply zadd(Keyspace& keys, const Words& words) {
  if (words.size() % 2 != 0) return error(errors::syntax);
  std::vector<double> scores;
  for (std::size_t i = 2; i < words.size(); i += 2) {
    const auto score = real_in(words[i]);
    if (!score) return error("ERR value is not a valid float");
    scores.push_back(*score);
  }
  const auto found = make<SortedSet>(keys, words[1]);
  if (found.bad) return error(errors::wrong_type);
  std::int64_t fresh = 0;
  for (std::size_t i = 0; i < scores.size(); ++i) {
    fresh += found.content->put(words[2 * i + 3], scores[i]) ? 1 : 0;
  }
  return Reply::number(fresh);
}

Reply zrem(Keyspace& keys, const Words& words) {
  const auto found = find<SortedSet>(keys, words[1]);
  if (found.bad) return error(errors::wrong_type);
  if (found.content == nullptr) return Reply::number(0);
  std::int64_t count = 0;
  for (std::size_t i = 2; i < words.size(); ++i) {
    count += found.content->remove(words[i]) ? 1 : 0;
  }
  if (found.content->entries().empty()) keys.remove(words[1]);
  return Reply::number(count);
}

Reply zcard(Keyspace& keys, const Words& words) {
  const auto found = find<SortedSet>(keys, words[1]);
  if (found.bad) return error(errors::wrong_type);
  const auto size = found.content == nullptr ? 0 : found.content->entries().size();
  return Reply::number(static_cast<std::int64_t>(size));
}

Reply zscore(Keyspace& keys, const Words& words) {
  const auto found = find<SortedSet>(keys, words[1]);
  if (found.bad) return error(errors::wrong_type);
  const auto place = found.content == nullptr ? std::nullopt : found.content->rank(words[2]);
  if (!place) return Reply::nil();
  return Reply::bulk(number_text(found.content->entries()[*place].first));
}

Reply zrank(Keyspace& keys, const Words& words) {
  const auto found = find<SortedSet>(keys, words[1]);
  if (found.bad) return error(errors::wrong_type);
  const auto place = found.content == nullptr ? std::nullopt : found.content->rank(words[2]);
  return place ? Reply::number(static_cast<std::int64_t>(*place)) : Reply::nil();
}

void append(Reply& reply, const SortedSet::Entry& entry, bool with_score) {
  reply.elements.push_back(Reply::bulk(entry.second));
  if (with_score) reply.elements.push_back(Reply::bulk(number_text(entry.first)));
}

// By rank only; BYSCORE, REV and the rest nobody uses.
Reply zrange(Keyspace& keys, const Words& words) {
  const bool with_scores = words.size() == 5 && lower(words[4]) == "withscores";
  if (words.size() > 4 && !with_scores) return error(errors::syntax);
  const auto first = integer_in(words[2]);
  const auto last = integer_in(words[3]);
  if (!first || !last) return error(errors::not_integer);
  const auto found = find<SortedSet>(keys, words[1]);
  if (found.bad) return error(errors::wrong_type);
  Reply reply = Reply::array({});
  if (found.content == nullptr) return reply;
  const auto& entries = found.content->entries();
  const auto [from, to] = bounds(*first, *last, entries.size());
  for (auto i = from; i < to; ++i) append(reply, entries[i], with_scores);
  return reply;
}

/// An end of an interval of scores.
struct End {
  double score;
  bool open;
};
// More is accepted here than as a score: spaces in front, and nothing at all.
std::optional<End> end_in(const std::string& text) {
  const bool open = text.starts_with('(');
  const char* begin = text.c_str() + (open ? 1 : 0);
  char* end = nullptr;
  const double score = std::strtod(begin, &end);
  if (*end != '\0' || std::isnan(score)) return std::nullopt;
  return End{score, open};
}

Reply zrangebyscore(Keyspace& keys, const Words& words) {
  bool with_scores = false;
  std::int64_t skip = 0;
  std::int64_t limit = -1;
  for (std::size_t i = 4; i < words.size(); ++i) {
    const auto option = lower(words[i]);
    if (option == "withscores") {
      with_scores = true;
    } else if (option == "limit" && i + 2 < words.size()) {
      const auto from = integer_in(words[++i]);
      const auto count = integer_in(words[++i]);
      if (!from || !count) return error(errors::not_integer);
      skip = *from;
      limit = *count;
    } else {
      return error(errors::syntax);
    }
  }
  const auto least = end_in(words[2]);
  const auto most = end_in(words[3]);
  if (!least || !most) return error("ERR min or max is not a float");
  const auto found = find<SortedSet>(keys, words[1]);
  if (found.bad) return error(errors::wrong_type);
  Reply reply = Reply::array({});
  if (found.content == nullptr || skip < 0) return reply;
  for (const auto& entry : found.content->entries()) {
    const double score = entry.first;
    if (score < least->score || (least->open && score == least->score)) continue;
    if (score > most->score || (most->open && score == most->score)) break;
    if (skip-- > 0) continue;
    if (limit-- == 0) break;
    append(reply, entry, with_scores);
  }
  return reply;
}

const std::unordered_map<std::string, CommandRule>& rules() {
  constexpr bool yes = true;
  constexpr bool no = false;
  static const std::unordered_map<std::string, CommandRule> all{
      // name, {arity, writes, denied without memory, in scripts, act}
      {"dbsize", {1, no, no, yes, dbsize}},
      {"del", {-2, yes, no, yes, del}},
      {"exists", {-2, no, no, yes, exists}},
      {"get", {2, no, no, yes, get}},
      {"keys", {2, no, no, yes, names}},
      {"llen", {2, no, no, yes, llen}},
      {"lpop", {-2, yes, no, yes, lpop}},
      {"lpush", {-3, yes, yes, yes, lpush}},
      {"lrange", {4, no, no, yes, lrange}},
      {"persist", {2, yes, no, yes, persist}},
      {"pexpire", {-3, yes, no, yes, pexpire}},
      {"pttl", {2, no, no, yes, pttl}},
      {"rpush", {-3, yes, yes, yes, rpush}},
      {"scan", {-2, no, no, yes, scan}},
      {"set", {-3, yes, yes, yes, set}},
      {"type", {2, no, no, yes, type}},
      {"zadd", {-4, yes, yes, yes, zadd}},
      {"zcard", {2, no, no, yes, zcard}},
      {"zrange", {-4, no, no, yes, zrange}},
      {"zrangebyscore", {-4, no, no, yes, zrangebyscore}},
      {"zrank", {3, no, no, yes, zrank}},
      {"zrem", {-3, yes, no, yes, zrem}},
      {"zscore", {3, no, no, yes, zscore}},
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
  return all;
}

}  // namespace

const CommandRule* rule_of(std::string_view name) {
  // Clients write capitals or not, but each the same.
  static std::unordered_map<std::string, const CommandRule*> seen;
  const std::string written{name};
  if (const auto known = seen.find(written); known != seen.end()) return known->second;
  const auto found = rules().find(lower(name));
  if (found != rules().end()) seen.emplace(written, &found->second);
  return found == rules().end() ? nullptr : &found->second;
}

bool fits(const CommandRule& rule, const Words& command) {
  const auto count = static_cast<int>(command.size());
  return rule.arity >= 0 ? count == rule.arity : count >= -rule.arity;
}

std::string lower(std::string_view text) {
  std::string result{text};
  for (char& c : result) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return result;
}

std::optional<std::int64_t> integer_in(std::string_view text) {
  std::int64_t number = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (failed != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  // What from_chars() reads besides what Redis writes: a zero in front, and -0.
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

}  // namespace sim
