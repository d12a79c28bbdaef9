// A ZooKeeper ensemble, as a URL names it.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <variant>

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

inline constexpr std::string_view accepted_servers =
    "zk://[user:password@]host[:port][,...][/path]";

/// Why no ensemble can be used by this program; null if one can.
const char* unavailable();

/// Nothing if the scheme is of another kind of store.
std::optional<base::Result<ZooKeeper, BadUrl>> ensemble_in(const Url& url);

}  // namespace zookeeper
}  // namespace store
