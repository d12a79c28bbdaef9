#include "keyspace.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>

namespace sim {

bool SortedSet::put(const std::string& member, double score) {
  const bool fresh = !remove(member);
  Entry entry{score, member};
  entries_.insert(std::lower_bound(entries_.begin(), entries_.end(), entry), std::move(entry));
  return fresh;
}

bool SortedSet::remove(const std::string& member) {
  const auto place = rank(member);
  if (place) entries_.erase(entries_.begin() + static_cast<std::ptrdiff_t>(*place));
  return place.has_value();
}

std::optional<std::size_t> SortedSet::rank(const std::string& member) const {
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    if (entries_[i].second == member) return i;
  }
  return std::nullopt;
}

// A key lives through the millisecond in which it ends (keyIsExpired() of Redis 7: now > when).
bool Keyspace::ended(const Value& value) const {
  return value.ends_ms && now_ms_ > *value.ends_ms;
}

Value* Keyspace::find(const std::string& key) {
  const auto found = values_.find(key);
  if (found == values_.end()) return nullptr;
  if (!ended(found->second)) return &found->second;
  values_.erase(found);
  return nullptr;
}

bool Keyspace::remove(const std::string& key) {
  if (find(key) == nullptr) return false;
  values_.erase(key);
  return true;
}

void Keyspace::note_new_list(const std::string& key) {
  if (std::find(new_lists_.begin(), new_lists_.end(), key) == new_lists_.end()) {
    new_lists_.push_back(key);
  }
}

Words Keyspace::names() {
  Words names;
  for (auto each = values_.begin(); each != values_.end();) {
    if (ended(each->second)) {
      each = values_.erase(each);
    } else {
      names.push_back((each++)->first);
    }
  }
  return names;
}

Reply dump(Keyspace& keys) {
  Reply all = Reply::array({});
  for (const std::string& key : keys.names()) {
    const Value& value = *keys.find(key);
    const auto left = value.ends_ms ? *value.ends_ms - keys.now_ms() : -1;
    Reply content = Reply::array({});
    if (const auto* text = std::get_if<std::string>(&value.content)) {
      content = Reply::bulk(*text);
    } else if (const auto* list = std::get_if<List>(&value.content)) {
      for (const auto& element : *list) content.elements.push_back(Reply::bulk(element));
    } else {
      for (const auto& [score, member] : std::get<SortedSet>(value.content).entries()) {
        content.elements.push_back(Reply::bulk(member));
        content.elements.push_back(Reply::bulk(number_text(score)));
      }
    }
    all.elements.push_back(Reply::array({Reply::bulk(key), Reply::bulk(type_name(value)),
                                         Reply::number(left), std::move(content)}));
  }
  return all;
}

std::string number_text(double number) {
  std::array<char, 64> text{};
  // Most are whole, and below what %.17g writes with an exponent.
  if (std::abs(number) < 9e15 && number == std::trunc(number) &&
      !(number == 0 && std::signbit(number))) {
    const auto end =
        std::to_chars(text.data(), text.data() + text.size(), static_cast<std::int64_t>(number));
    return {text.data(), end.ptr};
  }
  std::snprintf(text.data(), text.size(), "%.17g", number);
  return text.data();
}

const char* type_name(const Value& value) {
  static constexpr std::array<const char*, 3> names{"string", "list", "zset"};
  return names.at(value.content.index());
}

}  // namespace sim
