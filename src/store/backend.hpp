// Every kind of store in one place: parses the name of a server and opens it.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.hpp"
#include "store/doctor.hpp"
#include "store/etcd/cluster.hpp"
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
using ServerSpec = std::variant<RedisServer, Quorum, PostgreSql, ZooKeeper, Etcd, LocalDirectory>;

/// The accepted forms, for error messages.
std::string accepted_servers();

/// User name and password are percent-decoded. `why` never repeats the URL, which may contain a
/// secret.
base::Result<ServerSpec, BadUrl> parse_server(const ServerUrl& url);
/// Several servers form a quorum, which only some kinds support.
base::Result<ServerSpec, BadUrl> together(std::vector<ServerSpec> servers);

/// Sets `password` if the URL gave none. If it came from `file`, that is read again when a server
/// refuses the password.
void default_password(ServerSpec& server, const base::Secret& password,
                      const std::string& file = {});

/// Whether the server could use a password and its URL gave none.
bool lacks_password(const ServerSpec& server);

/// Whether its client looks up a password itself (.pgpass) if the URL gives none.
bool looks_for_password(const ServerSpec& server);

/// The part that needs shared libraries, "TLS" or "PostgreSQL"; empty if none does.
std::string_view what_takes_libraries(const ServerSpec& server);
/// The names and addresses in its URL; a server may report others later.
std::vector<std::string> hosts_of(const ServerSpec& server);

/// Connects nothing yet; the first call on the store does that.
std::unique_ptr<LockStore> open(const ServerSpec& server);
/// The same behind a gate: of all of this user's waiters on this host for a lock there, one waits
/// at the server, which is shown as `shown`.
std::unique_ptr<LockStore> open_gated(const ServerSpec& server, std::string_view shown);
std::unique_ptr<LockAdmin> open_admin(const ServerSpec& server);

/// The statements that an administrator must run before the first lock on servers of kind `kind`;
/// nothing if there is no such kind or it needs none.
std::optional<std::string> schema_of(std::string_view kind);

/// Whether locks on that kind of server support `feature`.
bool can(const ServerSpec& server, Feature feature);

/// Whether the server is fit to hold locks. Acquires and releases `name` as a trial, unless it is
/// held.
Findings examine(const ServerSpec& server, const LockName& name, const CallLimit& limit);

}  // namespace store
