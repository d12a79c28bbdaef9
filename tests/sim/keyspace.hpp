// One database of the double: keys with a value and perhaps an end.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "resp.hpp"

namespace sim {

/// Ordered by score, then by member. Small, so a vector is the quickest and the simplest.
class SortedSet {
 public:
  using Entry = std::pair<double, std::string>;
  /// Whether it is new.
  bool put(const std::string& member, double score);
  bool remove(const std::string& member);
  [[nodiscard]] std::optional<std::size_t> rank(const std::string& member) const;
  [[nodiscard]] const std::vector<Entry>& entries() const { return entries_; }

 private:
  std::vector<Entry> entries_;
};

using List = std::deque<std::string>;

struct Value {
  std::variant<std::string, List, SortedSet> content;
  std::optional<std::int64_t> ends_ms;  // by the server's clock
};

/// Time stands still between two calls of set_time(), as it does for a command or a script of
/// Redis.
class Keyspace {
 public:
  void set_time(std::int64_t now_ms) { now_ms_ = now_ms; }
  [[nodiscard]] std::int64_t now_ms() const { return now_ms_; }

  /// Nothing if it does not exist, or no longer: then it is removed now.
  Value* find(const std::string& key);
  void put(const std::string& key, Value value) { values_[key] = std::move(value); }
  bool remove(const std::string& key);
  void clear() { values_.clear(); }
  /// Lists that came into being, each once, in that order: those who wait for them come next.
  void note_new_list(const std::string& key);
  [[nodiscard]] bool has_new_lists() const { return !new_lists_.empty(); }
  Words take_new_lists() { return std::exchange(new_lists_, {}); }
  /// All keys that exist, in order.
  Words names();

 private:
  [[nodiscard]] bool ended(const Value& value) const;

  std::map<std::string, Value> values_;
  Words new_lists_;
  std::int64_t now_ms_ = 0;
};

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

/// All keys with type, value and PTTL: [[key, type, PTTL, string or [members...] or [member,
/// score...]]...]
Reply dump(Keyspace& keys);

/// As Redis writes a score into an answer, and a number of Lua into an argument.
std::string number_text(double number);

/// "string", "list" or "zset".
const char* type_name(const Value& value);

}  // namespace sim
