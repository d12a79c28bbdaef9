#include "store/spec.hpp"

#include <algorithm>

#include "base/result.hpp"

namespace store {
namespace {

using Parsed = std::variant<ServerSpec, BadUrl>;

template <class Server>
Parsed widened(std::variant<Server, BadUrl> server) {
  return base::match(
      std::move(server), [](Server&& good) -> Parsed { return ServerSpec{std::move(good)}; },
      [](BadUrl&& bad) -> Parsed { return std::move(bad); });
}

}  // namespace

std::string accepted_servers() {
  return std::string{redis::accepted_servers}
      .append(", ")
      .append(zookeeper::accepted_servers)
      .append(" or ")
      .append(local::accepted_servers);
}

Parsed parse_server(std::string_view url) {
  const auto parts = cut_url(url);
  if (!parts) return BadUrl{"no scheme"};
  if (auto redis = redis::server_in(*parts)) return widened(*std::move(redis));
  if (auto ensemble = zookeeper::ensemble_in(*parts)) return widened(*std::move(ensemble));
  if (auto directory = local::directory_in(*parts)) return widened(*std::move(directory));
  return BadUrl{"unknown scheme"};
}

Parsed together(std::vector<ServerSpec> servers) {
  if (servers.size() == 1) return std::move(servers.front());
  std::vector<RedisServer> nodes;
  for (auto& server : servers) {
    auto* node = std::get_if<RedisServer>(&server);
    if (node == nullptr) return BadUrl{"only Redis servers can be several"};
    nodes.push_back(std::move(*node));
  }
  return widened(quorum::quorum_of(std::move(nodes)));
}

std::vector<std::string> urls_in(const std::string& text) {
  constexpr std::string_view blanks = " \t";
  std::vector<std::string> urls;
  for (std::size_t at = 0; at < text.size();) {
    const auto begin = std::min(text.find_first_not_of(blanks, at), text.size());
    at = std::min(text.find_first_of(blanks, begin), text.size());
    if (begin < at) urls.push_back(text.substr(begin, at - begin));
  }
  const bool all = std::all_of(urls.begin(), urls.end(),
                               [](const std::string& each) { return cut_url(each).has_value(); });
  return urls.size() > 1 && all ? urls : std::vector{text};
}

void default_password(ServerSpec& server, const base::Secret& password) {
  const auto put = [&](RedisServer& redis) {
    if (redis.access.login.password.empty()) redis.access.login.password = password;
  };
  base::match(
      server, [&](RedisServer& redis) { put(redis); },
      [&](Quorum& quorum) { std::for_each(quorum.servers.begin(), quorum.servers.end(), put); },
      [&](ZooKeeper& ensemble) {
        if (!ensemble.user.empty() && ensemble.password.empty()) ensemble.password = password;
      },
      [](const LocalDirectory&) {});
}

}  // namespace store
