// Server URLs. The input is what stands before and behind a password.
#include <cstdlib>

#include "property.hpp"
#include "store/backend.hpp"

namespace {

constexpr std::string_view secret = "hunter2";

bool shows(std::string_view text) {
  return text.find(secret) != std::string_view::npos;
}

void look_at(const store::HostPort& host) {
  fuzz::promise(!host.host.empty(), "a host has a name");
  fuzz::promise(
      host.port.size() < 10 && host.port.find_first_not_of("0123456789") == host.port.npos,
      "a port is a number");
  const int port = std::atoi(host.port.c_str());
  fuzz::promise(port >= 1 && port <= 65535, "and one of those that there are");
}

/// Whether the secret is a password of it.
bool look_at(const store::RedisServer& server) {
  bool found = shows(server.access.login.password.reveal());
  if (const auto* nodes = std::get_if<store::RedisServer::Nodes>(&server.where)) {
    fuzz::promise(!nodes->empty(), "there is a node");
    for (const auto& node : *nodes) {
      if (const auto* tcp = std::get_if<store::RedisServer::Tcp>(&node)) look_at(*tcp);
    }
  } else {
    const auto& sentinels = std::get<store::RedisServer::Sentinels>(server.where);
    for (const auto& node : sentinels.nodes) look_at(node);
    fuzz::promise(!sentinels.master.empty(), "a master has a name");
    found = found || shows(sentinels.login.password.reveal());
  }
  return found;
}

bool look_at(const store::ServerSpec& spec) {
  if (const auto* redis = std::get_if<store::RedisServer>(&spec)) return look_at(*redis);
  if (const auto* ensemble = std::get_if<store::ZooKeeper>(&spec)) {
    fuzz::promise(ensemble->base.starts_with('/'), "the locks' node has a path");
    return shows(ensemble->password.reveal());
  }
  if (const auto* cluster = std::get_if<store::Etcd>(&spec)) {
    fuzz::promise(!cluster->members.empty(), "a cluster has members");
    for (const auto& member : cluster->members) look_at(member);
    fuzz::promise(!cluster->prefix.empty(), "the keys have a prefix");
    return shows(cluster->password.reveal());
  }
  if (const auto* directory = std::get_if<store::LocalDirectory>(&spec)) {
    fuzz::promise(directory->path.starts_with('/'), "a directory has a whole path");
    return false;
  }
  bool found = false;
  for (const auto& node : std::get<store::Quorum>(spec).servers) found = look_at(node) || found;
  return found;
}

void read(const std::string& text) {
  bool has_secret = false;
  std::vector<store::ServerSpec> specs;
  const store::ServerUrl all_urls{text};
  for (const auto& url : all_urls.each()) {
    auto parsed = store::parse_server(url);
    if (!parsed) {
      const std::string& why = parsed.error().why;
      fuzz::promise(!why.empty() && why.size() < 200, "a reason, in short");
      fuzz::promise_clean(why, "the reason is clean");
      return;
    }
    has_secret = look_at(*parsed) || has_secret;
    specs.push_back(*std::move(parsed));
  }
  fuzz::promise(!has_secret || !shows(all_urls.without_secret()), "no password is shown");
  const auto all = store::together(std::move(specs));
  if (all) (void)look_at(*all);
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  auto rest = fuzz::text_of(data, size);
  if (shows(rest)) return 0;  // it has guessed it
  const std::string before{fuzz::next(rest, '\0')};
  if (shows(before + std::string{rest})) return 0;
  read(before + std::string{rest});
  read(before + std::string{secret} + std::string{rest});
  const std::string encoded = store::percent_encoded(rest);
  // A NUL would end a path before its time: that one is refused.
  const bool is_text = rest.find('\0') == std::string_view::npos;
  fuzz::promise(!is_text || store::percent_decoded(encoded) == std::string{rest},
                "%-escapes are read back");
  fuzz::promise(encoded.find('/') == std::string::npos && !encoded.starts_with('.'),
                "an encoded name stays in its directory");
  return 0;
}
