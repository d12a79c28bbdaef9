#include "store/zookeeper/ensemble.hpp"

namespace store::zookeeper {

base::Result<ZooKeeper, BadUrl> ensemble_in(const Url& url) {
  if (const char* why = unavailable()) return BadUrl{why};
  if (!url.has_host) return BadUrl{"no '//' after the scheme"};
  ZooKeeper ensemble{"", "/rlock", "", {}};
  auto hosts = hosts_in(url.host, "2181");
  if (!hosts) return std::move(hosts).error();
  for (const HostPort& each : *hosts) {
    const bool is_ipv6 = each.host.find(':') != std::string::npos;
    ensemble.hosts += ensemble.hosts.empty() ? "" : ",";
    ensemble.hosts += (is_ipv6 ? "[" + each.host + "]" : each.host) + ":" + each.port;
  }
  if (!url.query.empty()) return BadUrl{"zk:// takes no '?' options"};
  if (url.has_user_info) {
    auto login = user_and_password(url);
    if (!login || login->first.empty()) return BadUrl{"before the '@' stands user:password"};
    ensemble.user = login->first;
    ensemble.password = base::Secret{login->second};
  }
  if (url.path.size() > 1) {
    auto path = percent_decoded(url.path);
    if (!path || path->find("//") != std::string::npos || path->find('\0') != std::string::npos) {
      return BadUrl{"the path is not a valid one"};
    }
    if (path->back() == '/') path->pop_back();
    ensemble.base = *std::move(path);
  }
  return ensemble;
}

}  // namespace store::zookeeper
