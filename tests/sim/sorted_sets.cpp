// The commands of Redis that touch sorted sets.
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>

#include "commands.hpp"

namespace sim {
namespace {

// Without its options, which nobody uses.
Reply zadd(Keyspace& keys, const Words& words) {
  if (words.size() % 2 != 0) return Reply::error(errors::syntax);
  std::vector<double> scores;
  for (std::size_t i = 2; i < words.size(); i += 2) {
    const auto score = real_in(words[i]);
    if (!score) return Reply::error("ERR value is not a valid float");
    scores.push_back(*score);
  }
  const auto found = make<SortedSet>(keys, words[1]);
  if (found.bad) return Reply::error(errors::wrong_type);
  std::int64_t fresh = 0;
  for (std::size_t i = 0; i < scores.size(); ++i) {
    fresh += found.content->put(words[2 * i + 3], scores[i]) ? 1 : 0;
  }
  return Reply::number(fresh);
}

Reply zrem(Keyspace& keys, const Words& words) {
  const auto found = find<SortedSet>(keys, words[1]);
  if (found.bad) return Reply::error(errors::wrong_type);
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
  if (found.bad) return Reply::error(errors::wrong_type);
  const auto size = found.content == nullptr ? 0 : found.content->entries().size();
  return Reply::number(static_cast<std::int64_t>(size));
}

Reply zscore(Keyspace& keys, const Words& words) {
  const auto found = find<SortedSet>(keys, words[1]);
  if (found.bad) return Reply::error(errors::wrong_type);
  const auto place = found.content == nullptr ? std::nullopt : found.content->rank(words[2]);
  if (!place) return Reply::nil();
  return Reply::bulk(number_text(found.content->entries()[*place].first));
}

Reply zrank(Keyspace& keys, const Words& words) {
  const auto found = find<SortedSet>(keys, words[1]);
  if (found.bad) return Reply::error(errors::wrong_type);
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
  if (words.size() > 4 && !with_scores) return Reply::error(errors::syntax);
  const auto first = integer_in(words[2]);
  const auto last = integer_in(words[3]);
  if (!first || !last) return Reply::error(errors::not_integer);
  const auto found = find<SortedSet>(keys, words[1]);
  if (found.bad) return Reply::error(errors::wrong_type);
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
  // As the scripts write them.
  if (text == "-inf") return End{-std::numeric_limits<double>::infinity(), false};
  if (!open) {
    if (const auto score = real_in(text)) return End{*score, false};
  }
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
      if (!from || !count) return Reply::error(errors::not_integer);
      skip = *from;
      limit = *count;
    } else {
      return Reply::error(errors::syntax);
    }
  }
  const auto least = end_in(words[2]);
  const auto most = end_in(words[3]);
  if (!least || !most) return Reply::error("ERR min or max is not a float");
  const auto found = find<SortedSet>(keys, words[1]);
  if (found.bad) return Reply::error(errors::wrong_type);
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

}  // namespace

const std::vector<std::pair<const char*, CommandRule>>& sorted_set_rules() {
  constexpr bool yes = true;
  constexpr bool no = false;
  static const std::vector<std::pair<const char*, CommandRule>> all{
      {"zadd", {-4, yes, yes, yes, zadd}},   {"zcard", {2, no, no, yes, zcard}},
      {"zrange", {-4, no, no, yes, zrange}}, {"zrangebyscore", {-4, no, no, yes, zrangebyscore}},
      {"zrank", {3, no, no, yes, zrank}},    {"zrem", {-3, yes, no, yes, zrem}},
      {"zscore", {3, no, no, yes, zscore}},
  };
  return all;
}

}  // namespace sim
