// Where the keys of a lock are: PREFIX/queue/KEY/..., which is also a lock of etcdctl(1) and of
// etcd's client libraries, PREFIX/runs/KEY/..., PREFIX/slots/KEY/... and PREFIX/superseded/KEY.
#include <fnmatch.h>

#include <algorithm>

#include "store/etcd/client.hpp"
#include "store/url.hpp"

namespace store::etcd {
namespace {

// Keys of one question. A lock has a few.
constexpr int keys_at_once = 5'000;
// Of the memory of a list.
constexpr std::size_t longest_names = std::size_t{64} << 20;

}  // namespace

sessions::Places Client::places_of(const LockName& name) const {
  const auto key = percent_encoded(name.text());
  return {prefix_ + "/queue/" + key, prefix_ + "/runs/" + key, prefix_ + "/slots/" + key,
          prefix_ + "/superseded/" + key};
}

std::string Client::last_word_of(std::string_view nonce) const {
  return prefix_ + "/stopped/" + std::string{nonce};
}

/// Adds the segments behind `below`, each once, in their order.
Result<base::Done> Client::add_keys(const std::string& below, std::vector<std::string>& keys,
                                    const CallLimit& limit) {
  std::string begin = below + '/';
  const std::string end = below + '0';
  std::size_t bytes = 0;
  for (;;) {
    const Json range{{"key", base64_of(begin)},
                     {"range_end", base64_of(end)},
                     {"keys_only", true},
                     {"limit", std::to_string(keys_at_once)}};
    const auto reply = gateway_.ask("/v3/kv/range", range.dump(), Repeat::yes, limit);
    if (!reply) return reply.error().fault;
    if (number_of(member_of(reply->json, "header"), "revision").value_or(0) <= 0) {
      return Fault{Fault::Kind::unusable, "a list of keys that makes no sense"};
    }
    const Json& kvs = member_of(reply->json, "kvs");
    if (kvs.is_null()) return base::Done{};
    for (const Json& each : kvs) {
      const auto pair = key_value_in(each);
      // In ascending order, or it would never end.
      if (!pair || pair->key < begin || pair->key >= end) {
        return Fault{Fault::Kind::unusable, "a list of keys that makes no sense"};
      }
      begin = pair->key + '\0';
      const auto name = pair->key.substr(below.size() + 1);
      const auto segment = name.substr(0, name.find('/'));
      if (!keys.empty() && keys.back() == segment) continue;
      keys.push_back(segment);
      if ((bytes += segment.size()) > longest_names) {
        return Fault{Fault::Kind::unusable, "too many keys for one list"};
      }
    }
    const Json& more = member_of(reply->json, "more");
    if (!more.is_boolean() || !more.get<bool>() || kvs.empty()) return base::Done{};
  }
}

Result<std::vector<LockName>> Client::names(const std::string& pattern, const CallLimit& limit) {
  std::vector<std::string> keys;
  for (const char* part : {"/queue", "/runs", "/slots"}) {
    if (auto added = add_keys(prefix_ + part, keys, limit); !added) {
      return std::move(added).error();
    }
  }
  std::sort(keys.begin(), keys.end());
  keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
  std::vector<LockName> names;
  for (const auto& each : keys) {
    const auto text = percent_decoded(each);
    const auto name = text ? LockName::from(*text) : std::nullopt;
    if (name && ::fnmatch(pattern.c_str(), text->c_str(), 0) == 0) names.push_back(*name);
  }
  return names;
}

}  // namespace store::etcd
