// A Redis server, or the way to it, as named by a URL.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.hpp"
#include "store/tls/settings.hpp"
#include "store/url.hpp"

namespace store {

/// A file from which a password was read. An administrator who replaces the password writes the new
/// one there, and a job may run for longer than the old one is accepted. Any thread.
class PasswordFile {
 public:
  PasswordFile(std::string path, base::Secret password)
      : path_{std::move(path)}, password_{std::move(password)} {}

  /// The password last read.
  [[nodiscard]] base::Secret password() const;
  /// Reads the file again after the server refused `refused`. Returns the current password, which
  /// another connection may have read already; nothing if it is unchanged or unreadable.
  std::optional<base::Secret> newer_than(const base::Secret& refused);

 private:
  std::string path_;
  mutable std::mutex mutex_;
  base::Secret password_;
};
/// The first line of the file's contents.
base::Secret password_in(const std::string& contents);

/// redis://[[user]:pass@]host[:port][,host[:port]...][/db]  and  unix://[user:pass@]/path[?db=N]
/// and redis+sentinel://[user:pass@]host[:port],host[:port].../master-name[/db]; over TLS they are
/// called rediss:// and rediss+sentinel://
struct RedisServer {
  using Tcp = HostPort;
  struct Unix {
    std::string path;
    bool operator==(const Unix&) const = default;
  };
  using Address = std::variant<Tcp, Unix>;
  struct Login {
    std::string user;  // empty: the default user
    base::Secret password;
    std::shared_ptr<PasswordFile> file{};  // the source of the password, if it was a file
  };
  using Tls = TlsSettings;
  /// The credentials and settings of a connection.
  struct Access {
    Login login;
    int database = 0;
    std::optional<Tls> tls;
  };
  /// Sentinels, which know the master of that name.
  struct Sentinels {
    std::vector<Tcp> nodes;  // at least one
    std::string master;
    Login login;
  };
  /// One server, or some nodes of one Cluster, any of which can be the first.
  using Nodes = std::vector<Address>;
  std::variant<Nodes, Sentinels> where;
  Access access;
};

namespace redis {

/// Parses the URLs of each scheme.
base::Result<RedisServer, BadUrl> tcp_server_in(const Url& url);
base::Result<RedisServer, BadUrl> tls_server_in(const Url& url);
base::Result<RedisServer, BadUrl> unix_server_in(const Url& url);
base::Result<RedisServer, BadUrl> sentinel_master_in(const Url& url);
base::Result<RedisServer, BadUrl> tls_sentinel_master_in(const Url& url);

}  // namespace redis
}  // namespace store
