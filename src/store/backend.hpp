// The only file that knows every kind of store: what a server is named by, and what opens it.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.hpp"
#include "store/doctor.hpp"
#include "store/local/directory.hpp"
#include "store/lock_admin.hpp"
#include "store/lock_store.hpp"
#include "store/postgres/database.hpp"
#include "store/quorum/servers.hpp"
#include "store/redis/server.hpp"
#include "store/server_url.hpp"
#include "store/url.hpp"
#include "store/zookeeper/ensemble.hpp"

namespace store {

/// A server of any kind.
using ServerSpec = std::variant<RedisServer, Quorum, PostgreSql, ZooKeeper, LocalDirectory>;

/// For a message that says what was expected.
std::string accepted_servers();

/// User name and password are percent-decoded. `why` never repeats the URL, which may hold a
/// secret.
base::Result<ServerSpec, BadUrl> parse_server(const ServerUrl& url);
/// Several are a quorum, which only some kinds can be part of.
base::Result<ServerSpec, BadUrl> together(std::vector<ServerSpec> servers);

/// Puts `password` where the URL gave none; of `file`, if it came from one, which is read again
/// when a server refuses it.
void default_password(ServerSpec& server, const base::Secret& password,
                      const std::string& file = {});

/// Whether it would take a password, and its URL gave none.
bool lacks_password(const ServerSpec& server);

/// Whether its client looks for a password by itself (.pgpass) where its URL gives none.
bool looks_for_password(const ServerSpec& server);

/// What of it takes shared libraries, "TLS" or "PostgreSQL"; empty: nothing.
std::string_view what_takes_libraries(const ServerSpec& server);
/// The names and addresses that its URL has; a server may bring others up later.
std::vector<std::string> hosts_of(const ServerSpec& server);

/// Nothing is connected yet; the first call on the store does that.
std::unique_ptr<LockStore> open(const ServerSpec& server);
/// The same behind a gate: of all of this user who wait on this host for a lock there, one does so
/// at the server, whose name is `shown`.
std::unique_ptr<LockStore> open_gated(const ServerSpec& server, std::string_view shown);
std::unique_ptr<LockAdmin> open_admin(const ServerSpec& server);

/// What has to be there before the first lock, for a kind of server whose name is `kind`, as its
/// administrator runs it; nothing: there is no such kind, or it needs nothing.
std::optional<std::string> schema_of(std::string_view kind);

/// Whether locks of that kind of server can do this.
bool can(const ServerSpec& server, Feature feature);

/// Whether it is fit to hold locks; `name` is taken and released for that, unless somebody holds
/// it.
Findings examine(const ServerSpec& server, const LockName& name, const CallLimit& limit);

}  // namespace store
