// An etcd cluster, as a URL names it.
#pragma once

#include <string>
#include <vector>

#include "base/result.hpp"
#include "store/url.hpp"

namespace store {

/// etcd://[user:password@]host[:port][,host[:port]...][/prefix]
struct Etcd {
  std::vector<HostPort> members;  // at least one
  std::string prefix;             // of all keys, without a slash at its end: "rlock" unless given
  std::string user;               // empty: none
  base::Secret password;
};

namespace etcd {

/// The cluster of an etcd: URL.
base::Result<Etcd, BadUrl> cluster_in(const Url& url);

}  // namespace etcd
}  // namespace store
