#include "store/etcd/cluster.hpp"

namespace store::etcd {

base::Result<Etcd, BadUrl> cluster_in(const Url& url) {
  if (!url.has_host) return BadUrl{"no '//' after the scheme"};
  Etcd cluster{{}, "rlock", "", {}};
  auto members = hosts_in(url.host, "2379");
  if (!members) return std::move(members).error();
  cluster.members = *std::move(members);
  if (!url.query.empty()) return BadUrl{"etcd:// takes no '?' options"};
  if (url.has_user_info) {
    auto login = user_and_password(url);
    if (!login || login->first.empty()) return BadUrl{"before the '@' stands user:password"};
    cluster.user = login->first;
    cluster.password = base::Secret{login->second};
  }
  if (url.path.size() > 1) {
    auto prefix = percent_decoded(url.path.substr(1));
    if (!prefix) return BadUrl{"the prefix is not a valid one"};
    if (prefix->back() == '/') prefix->pop_back();
    if (prefix->empty()) return BadUrl{"the prefix is not a valid one"};
    cluster.prefix = *std::move(prefix);
  }
  return cluster;
}

}  // namespace store::etcd
