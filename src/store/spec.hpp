// Server URLs: where locks live, and the secret that opens the door.
#pragma once

#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.hpp"
#include "store/local/directory.hpp"
#include "store/quorum/servers.hpp"
#include "store/redis/server.hpp"
#include "store/url.hpp"
#include "store/zookeeper/ensemble.hpp"

namespace store {

/// A server of any kind; store/open knows what to do with each.
using ServerSpec = std::variant<RedisServer, Quorum, ZooKeeper, LocalDirectory>;

inline constexpr std::string_view default_server = "redis://127.0.0.1:6379";
/// For a message that says what was expected.
std::string accepted_servers();

/// User name and password are percent-decoded. `why` never repeats the URL, which may hold a
/// secret.
std::variant<ServerSpec, BadUrl> parse_server(std::string_view url);
/// Several are a quorum, which only some kinds can be part of.
std::variant<ServerSpec, BadUrl> together(std::vector<ServerSpec> servers);

/// The URLs in a text, with blanks between them. If not each word is one, the text is one.
std::vector<std::string> urls_in(const std::string& text);

/// The URLs in a text without what might be a secret, for messages and for the job's environment. A
/// good URL stays one: it loses user names and passwords. What may be one in a garbled URL becomes
/// "…", and stays there only if nothing in it can be a password: a host, a number of a port.
std::string without_secret(const std::string& text);

/// Puts `password` where the URL gave none.
void default_password(ServerSpec& server, const base::Secret& password);

}  // namespace store
