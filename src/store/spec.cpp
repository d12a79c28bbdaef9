#include "store/spec.hpp"

#include <algorithm>

#include "base/match.hpp"
#include "base/text.hpp"

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
  return std::string{redis::accepted_servers}.append(" or ").append(local::accepted_servers);
}

Parsed parse_server(std::string_view url) {
  const auto parts = cut_url(url);
  if (!parts) return BadUrl{"no scheme"};
  if (auto redis = redis::server_in(*parts)) return widened(*std::move(redis));
  if (auto directory = local::directory_in(*parts)) return widened(*std::move(directory));
  return BadUrl{"unknown scheme '" + base::printable(parts->scheme, 40) + "'"};
}

std::string without_secret(std::string_view url) {
  if (const auto secret = url.find("sentinel-password="); secret != std::string_view::npos) {
    url = url.substr(0, std::min(url.rfind('?', secret), secret));
  }
  const auto at = url.rfind('@');
  if (at == std::string_view::npos) return std::string{url};
  // A garbled URL may hold one, too: without a scheme nothing before the '@' is known to be none.
  const auto colon = url.find("://");
  const bool has_scheme = colon != std::string_view::npos && colon < at;
  return std::string{has_scheme ? url.substr(0, colon + 3) : ""}.append(url.substr(at + 1));
}

void default_password(ServerSpec& server, const base::Secret& password) {
  base::match(
      server,
      [&](RedisServer& redis) {
        if (redis.access.login.password.empty()) redis.access.login.password = password;
      },
      [](const LocalDirectory&) {});
}

}  // namespace store
