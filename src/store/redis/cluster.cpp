#include "store/redis/cluster.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.hpp"

namespace store::redis {
namespace {

using Tcp = RedisServer::Tcp;

constexpr std::int64_t all_slots = 16'384;

/// {ip or hostname, port, id, {"ip", "10.0.0.1", ...}}. Behind load balancers a node may have only
/// the name that we used. A missing hostname is "?"; the address follows later.
std::optional<Tcp> address_of(const Reply& node, const std::string& host) {
  Tcp address{std::string{node[0].text()}, std::to_string(node[1].integer())};
  if (address.host.empty()) address.host = host;
  const Reply more = node[3];
  for (std::size_t i = 0; address.host == "?" && i + 1 < more.size(); i += 2) {
    if (more[i].text() == "ip" && !more[i + 1].text().empty()) address.host = more[i + 1].text();
  }
  if (address.host.empty() || address.host == "?") return std::nullopt;
  return address;
}

Fault lacks(std::string why) {
  return {Fault::Kind::unavailable, std::move(why)};
}

/// Whether INFO says that it is a Cluster node; nothing if INFO is forbidden as well.
Result<std::optional<bool>> is_of_cluster(Client& client, const CallLimit& each) {
  const auto info = client.ask({"INFO", "cluster"}, each);
  if (!info && refuses_command(info.error())) return std::optional<bool>{};
  if (!info) return info.error();
  if (info->text().find("cluster_enabled:1") != std::string_view::npos) return std::optional{true};
  if (info->text().find("cluster_enabled:0") != std::string_view::npos) return std::optional{false};
  return std::optional<bool>{};
}

}  // namespace

Masters masters_in(const Reply& slots, const std::string& host) {
  Masters masters;
  std::int64_t covered = 0;
  for (std::size_t i = 0; i < slots.size(); ++i) {
    const Reply range = slots[i];
    const auto first = range[0].integer();
    const auto last = range[1].integer();
    if (first >= 0 && last >= first && last < all_slots) covered += last - first + 1;
    const auto address = address_of(range[2], host);
    masters.layout +=
        fmt::format("{} {} {}\n", first, last, address ? address->host + ":" + address->port : "");
    if (!address) {
      masters.missing =
          lacks(fmt::format("the node of the slots {} to {} says no host ({}:{})", first, last,
                            base::printable(range[2][0].text(), 100), range[2][1].integer()));
    } else if (std::find(masters.nodes.begin(), masters.nodes.end(), *address) ==
               masters.nodes.end()) {
      masters.nodes.push_back(*address);
    }
  }
  if (!masters.missing && covered < all_slots) {
    masters.missing = lacks(fmt::format("this node of the Cluster knows no node for {} of {} slots",
                                        all_slots - covered, all_slots));
  }
  return masters;
}

std::optional<std::string> moving_slot_in(std::string_view nodes) {
  // In the node's own line alone: [93-<-ID] comes from there, [77->-ID] goes there.
  for (std::size_t at = nodes.find(" ["); at != std::string_view::npos;
       at = nodes.find(" [", at + 1)) {
    const std::string_view slot = nodes.substr(at + 2);
    const auto digits = std::min(slot.find_first_not_of("0123456789"), slot.size());
    const std::string_view way = slot.substr(digits, 3);
    if (digits > 0 && digits <= 5 && (way == "-<-" || way == "->-")) {
      return std::string{slot.substr(0, digits)};
    }
  }
  return std::nullopt;
}

Result<Masters> masters_of(Client& client, const CallLimit& each) {
  auto answer = client.ask({"CLUSTER", "SLOTS"}, each);
  if (answer) return masters_in(*answer, client.host());
  Fault fault = std::move(answer).error();
  const bool disabled = fault.why.find("cluster support disabled") != std::string::npos;
  if (disabled) return Masters{};
  if (!refuses_command(fault)) return fault;
  const auto cluster = is_of_cluster(client, each);
  if (!cluster) return cluster.error();
  Masters masters;
  masters.unknown = !*cluster;
  if (cluster->value_or(false)) masters.missing = std::move(fault);
  return masters;
}

}  // namespace store::redis
