// A ZooKeeper ensemble, as a URL names it.
#pragma once

#include <string>

#include "base/result.hpp"
#include "store/url.hpp"

namespace store {

/// zk://[user:password@]host[:port][,host[:port]...][/path]
struct ZooKeeper {
  std::string hosts;  // as the client library wants them
  std::string base;   // the node below which the locks are: "/rlock" unless given
  std::string user;   // with the password: digest authentication; empty: none
  base::Secret password;
};

namespace zookeeper {

/// Why no ensemble can be used by this program; null if one can.
const char* unavailable();

/// The ensemble of a zk: URL.
base::Result<ZooKeeper, BadUrl> ensemble_in(const Url& url);

}  // namespace zookeeper
}  // namespace store
