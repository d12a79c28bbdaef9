// Server URLs: where locks live, and the secret that opens the door.
#pragma once

#include <string>
#include <string_view>
#include <variant>

#include "base/secret.hpp"
#include "store/local/directory.hpp"
#include "store/redis/server.hpp"
#include "store/url.hpp"

namespace store {

/// A server of any kind; store/open knows what to do with each.
using ServerSpec = std::variant<RedisServer, LocalDirectory>;

inline constexpr std::string_view default_server = "redis://127.0.0.1:6379";
/// For a message that says what was expected.
std::string accepted_servers();

/// User name and password are percent-decoded. `why` never repeats the URL, which may hold a
/// secret.
std::variant<ServerSpec, BadUrl> parse_server(std::string_view url);

/// The URL without user name and password, for messages and for the job's environment.
std::string without_secret(std::string_view url);

/// Puts `password` where the URL gave none.
void default_password(ServerSpec& server, const base::Secret& password);

}  // namespace store
