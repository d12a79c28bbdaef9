// Source: https://etcd.io/docs/v3.4/learning/api/#watch-streams
#include "store/etcd/watch.hpp"

#include <algorithm>

namespace store::etcd {
namespace {

constexpr std::size_t longest_line = Connection::longest_part;

bool is_true(const Json& json, const char* name) {
  const Json& value = member_of(json, name);
  return value.is_boolean() && value.get<bool>();
}

}  // namespace

std::optional<WatchNews> news_in(std::string_view line) {
  const auto json = json_in(line);
  if (!json) return std::nullopt;
  const Json& result = member_of(*json, "result");
  WatchNews news;
  if (!result.is_object()) {
    news.is_over = true;  // an error
    return news;
  }
  news.is_over = is_true(result, "canceled");
  news.is_compacted = number_of(result, "compact_revision").value_or(0) > 0;
  const Json& events = member_of(result, "events");
  if (events.is_null()) return news;
  if (!events.is_array()) return std::nullopt;
  for (const Json& each : events) {
    auto key = base64_in(text_of(member_of(each, "kv"), "key"));
    if (!key) return std::nullopt;
    news.events.push_back({*std::move(key), text_of(each, "type") == "DELETE"});
  }
  return news;
}

void Watches::add(const std::string& key, std::uint64_t revision) {
  changed_.erase(key);
  watched_[key] = {revision, ++added_};
  is_stale_ = true;
  if (watched_.size() <= most_keys) return;
  const auto oldest = std::min_element(
      watched_.begin(), watched_.end(),
      [](const auto& a, const auto& b) { return a.second.number < b.second.number; });
  if (oldest->second.number <= round_) watched_.erase(oldest);
}

Watches::Change Watches::change_of(const std::string& key) {
  const auto found = changed_.find(key);
  if (found == changed_.end()) return Change::none;
  const Change change = found->second;
  changed_.erase(found);
  return change;
}

bool Watches::wants_stream(const Gateway& gateway) const {
  if (watched_.empty()) return false;
  return is_stale_ || !stream_ || member_changes_ != gateway.member_changes();
}

void Watches::open(Gateway& gateway, const CallLimit& limit) {
  std::string body;
  for (const auto& [key, watch] : watched_) {
    const Json request{
        {"create_request",
         {{"key", base64_of(key)}, {"start_revision", std::to_string(watch.after + 1)}}}};
    body += request.dump();
  }
  stream_.reset();
  text_.clear();
  auto opened = gateway.open_stream("/v3/watch", body, limit);
  if (!opened) return lose_stream();
  stream_ = *std::move(opened);
  member_changes_ = gateway.member_changes();
  opened_at_ = base::now();
  is_stale_ = false;
}

void Watches::receive(Gateway& gateway) {
  if (!stream_) return;
  auto part = stream_->arrived();
  if (!part) return lose_stream();
  text_ += part->text;
  std::size_t begin = 0;
  for (auto end = text_.find('\n'); end != std::string::npos; end = text_.find('\n', begin)) {
    const auto news = news_in(std::string_view{text_}.substr(begin, end - begin));
    begin = end + 1;
    if (!news) return lose_stream();
    take(*news);
    if (!news->is_over) continue;
    if (!news->is_compacted) {
      gateway.forget_token();  // it may be that
      gateway.leave_member();  // or it is cut off
    }
    return lose_stream();
  }
  text_.erase(0, begin);
  constexpr int fine = 200;
  if (part->ended || (part->status != 0 && part->status != fine) || text_.size() > longest_line) {
    if (part->status != fine) gateway.forget_token();
    lose_stream();
  }
}

void Watches::take(const WatchNews& news) {
  const auto note = [&](const std::string& key, Change change) {
    if (watched_.erase(key) > 0) changed_[key] = change;
  };
  for (const auto& each : news.events)
    note(each.key, each.is_gone ? Change::gone : Change::written);
  if (!news.is_compacted) return;
  // Which of the watches it was does not matter: their readers look, and watch again.
  while (!watched_.empty()) note(std::string{watched_.begin()->first}, Change::written);
}

/// The next one is opened after a pause, at first a short one.
void Watches::lose_stream() {
  const auto now = base::now();
  if (opened_at_ && now - *opened_at_ >= proves_itself) pauses_.reset();
  opened_at_.reset();
  stream_.reset();
  text_.clear();
  due_ = Deadline::after(now, pauses_.next());
}

}  // namespace store::etcd
