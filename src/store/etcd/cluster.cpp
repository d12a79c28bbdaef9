#include "store/etcd/cluster.hpp"

namespace store::etcd {
namespace {

std::optional<BadUrl> take_options(const Url& url, TlsSettings& tls) {
  const auto options = options_in(url.query);
  if (!options) return BadUrl{"a broken %-escape after the '?'"};
  for (const auto& [name, value] : *options) {
    const UrlOption* option = url_option(name);
    if (option == nullptr || option->group != UrlOption::Group::tls) {
      return BadUrl{accepted_options(
          url, [](const auto& each) { return each.group == UrlOption::Group::tls; })};
    }
    if (auto bad = tls::take_option(*option, value, tls)) return bad;
  }
  return tls::conflict_in(tls);
}

base::Result<Etcd, BadUrl> cluster_in(const Url& url) {
  if (!url.has_host) return BadUrl{"no '//' after the scheme"};
  Etcd cluster{{}, "rlock", "", {}, {}};
  auto members = hosts_in(url.host, "2379");
  if (!members) return std::move(members).error();
  cluster.members = *std::move(members);
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

}  // namespace

base::Result<Etcd, BadUrl> plain_cluster_in(const Url& url) {
  if (!url.query.empty()) return BadUrl{accepted_options(url, [](const auto&) { return false; })};
  return cluster_in(url);
}

base::Result<Etcd, BadUrl> tls_cluster_in(const Url& url) {
  auto cluster = cluster_in(url);
  if (!cluster) return cluster;
  if (auto bad = take_options(url, cluster->tls.emplace())) return *std::move(bad);
  return cluster;
}

}  // namespace store::etcd
