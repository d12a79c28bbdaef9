// A Redis server, or what leads to it, as a URL names it.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.hpp"
#include "store/url.hpp"

namespace store {

/// A file that a password was read from. Whoever replaces a password writes the new one there, and
/// a job may run for longer than the old one is accepted. Any thread.
class PasswordFile {
 public:
  PasswordFile(std::string path, base::Secret password)
      : path_{std::move(path)}, password_{std::move(password)} {}

  /// The last one that was read.
  [[nodiscard]] base::Secret password() const;
  /// Reads it again, after the server refused `refused`: the password that is there now, or that
  /// another connection has read meanwhile; nothing if it is the same, or cannot be read.
  std::optional<base::Secret> newer_than(const base::Secret& refused);

 private:
  std::string path_;
  mutable std::mutex mutex_;
  base::Secret password_;
};
/// The first line of what stands in it.
base::Secret password_in(const std::string& contents);

/// Files are PEM. The server's certificate is verified unless the URL says that it must not be.
struct TlsSettings {
  std::string ca_file;           // empty: those that the system trusts
  std::string certificate_file;  // ours, with its chain; empty: none
  std::string key_file;
  std::string name;  // that the certificate must have; empty: the host we connect to
  bool verify = true;
};

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
    std::shared_ptr<PasswordFile> file{};  // where the password came from, if it was one
  };
  using Tls = TlsSettings;
  /// What a connection needs to be let in.
  struct Access {
    Login login;
    int database = 0;
    std::optional<Tls> tls;
  };
  /// They know which server is the master of that name.
  struct Sentinels {
    std::vector<Tcp> nodes;  // at least one
    std::string master;
    Login login;
  };
  /// One server; or some nodes of one Cluster, of which any will do to begin with.
  using Nodes = std::vector<Address>;
  std::variant<Nodes, Sentinels> where;
  Access access;
};

namespace redis {

/// What a URL of each scheme names.
base::Result<RedisServer, BadUrl> tcp_server_in(const Url& url);
base::Result<RedisServer, BadUrl> tls_server_in(const Url& url);
base::Result<RedisServer, BadUrl> unix_server_in(const Url& url);
base::Result<RedisServer, BadUrl> sentinel_master_in(const Url& url);
base::Result<RedisServer, BadUrl> tls_sentinel_master_in(const Url& url);

}  // namespace redis
}  // namespace store
