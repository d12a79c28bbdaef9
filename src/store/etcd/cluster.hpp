// An etcd cluster, as a URL names it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "store/tls/settings.hpp"
#include "store/url.hpp"

namespace store {

/// etcd://[user:password@]host[:port][,host[:port]...][/prefix], and etcds:// over TLS
struct Etcd {
  std::vector<HostPort> members;  // at least one
  std::string prefix;             // of all keys, without a slash at its end: "rlock" unless given
  std::string user;               // empty: none
  base::Secret password;
  std::optional<TlsSettings> tls{};
};

namespace etcd {

/// The clusters of etcd: and of etcds: URLs.
base::Result<Etcd, BadUrl> plain_cluster_in(const Url& url);
base::Result<Etcd, BadUrl> tls_cluster_in(const Url& url);

}  // namespace etcd
}  // namespace store
