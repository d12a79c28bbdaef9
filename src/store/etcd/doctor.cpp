// Whether an etcd cluster is fit to hold locks.
#include <fmt/format.h>

#include <algorithm>

#include "base/fields.hpp"
#include "base/text.hpp"
#include "store/etcd/client.hpp"
#include "store/etcd/etcd.hpp"

namespace store::etcd {
namespace {

using Verdict = Finding::Verdict;

// The gateway's paths begin with /v3 since then.
constexpr int oldest_minor = 4;

std::string name_of(const HostPort& member) {
  return member.host + ":" + member.port;
}

Finding version_in(const Json& status) {
  const auto version = text_of(status, "version");
  const std::string_view text{version};
  const auto dot = text.find('.');
  const auto rest = dot == text.npos ? std::string_view{} : text.substr(dot + 1);
  const auto major = base::number_in<int>(text.substr(0, dot)).value_or(0);
  const auto minor = base::number_in<int>(rest.substr(0, rest.find('.'))).value_or(0);
  constexpr int major_version = 3;
  const bool old = major < major_version || (major == major_version && minor < oldest_minor);
  return {old ? Verdict::fail : Verdict::ok, "version", "etcd " + base::printable(version),
          old ? "use etcd 3.4 or newer" : ""};
}

/// Of each member in the URL: a run goes on without those that are down.
Findings examine_members(const Etcd& cluster, const CallLimit& limit) {
  Findings findings;
  for (std::size_t i = 0; i < cluster.members.size(); ++i) {
    Etcd one = cluster;
    one.members = {cluster.members[i]};
    const auto now = base::now();
    const auto others = static_cast<Millis::rep>(cluster.members.size() - i);
    const auto share = limit.at_most(Deadline::after(now, limit.until.left(now) / (others + 1)));
    Gateway member{one};
    const auto status = member.ask("/v3/maintenance/status", "{}", Repeat::yes, share);
    const auto subject = name_of(cluster.members[i]);
    if (!status) {
      findings.push_back({Verdict::warn, subject, status.error().fault.why,
                          "the others serve, if they are a majority"});
      continue;
    }
    const Json& learner = member_of(status->json, "isLearner");
    const bool is_learner = learner.is_boolean() && learner.get<bool>();
    // A number of 64 bits without a sign.
    const auto leader = text_of(status->json, "leader");
    const bool has_leader = !leader.empty() && leader != "0";
    if (is_learner) {
      findings.push_back({Verdict::warn, subject, "is a learner, which answers no questions",
                          "leave it out of the URL until it is promoted"});
    } else if (!has_leader) {
      findings.push_back({Verdict::warn, subject, "knows no leader",
                          "see 'etcdctl endpoint status' and its network"});
    } else if (auto version = version_in(status->json); version.verdict != Verdict::ok) {
      findings.push_back({version.verdict, subject, version.seen, version.advice});
    } else {
      findings.push_back({Verdict::ok, subject, version.seen, ""});
    }
  }
  return findings;
}

/// How many members the cluster has, and how many of these may fail.
Finding examine_quorum(const Etcd& cluster, Gateway& gateway, const CallLimit& limit) {
  constexpr const char* subject = "quorum";
  const auto reply = gateway.ask("/v3/cluster/member/list", "{}", Repeat::yes, limit);
  if (!reply) return {Verdict::unknown, subject, reply.error().fault.why, ""};
  const Json& members = member_of(reply->json, "members");
  const auto voters = std::count_if(members.begin(), members.end(), [](const Json& each) {
    const Json& learner = member_of(each, "isLearner");
    return !(learner.is_boolean() && learner.get<bool>());
  });
  if (!members.is_array() || voters == 0) {
    return {Verdict::unknown, subject, "no list of members", ""};
  }
  const auto majority = voters / 2 + 1;
  const auto seen = fmt::format("{} member{} with a vote, of which {} may fail", voters,
                                voters == 1 ? "" : "s", voters - majority);
  const auto named = static_cast<std::ptrdiff_t>(cluster.members.size());
  if (named < majority) {
    return {Verdict::warn, subject, seen,
            fmt::format("name at least {} in the URL: rlock asks only those", majority)};
  }
  return {Verdict::ok, subject, seen, ""};
}

/// Says who may change locks.
Finding examine_access(const Etcd& cluster, const Gateway& gateway) {
  constexpr const char* subject = "access";
  if (cluster.user.empty()) {
    return {Verdict::ok, subject, "every client that reaches the members may change locks", ""};
  }
  const auto user = base::printable(cluster.user);
  if (gateway.has_no_auth()) {
    return {Verdict::warn, subject,
            "authentication is not enabled, so user " + user + " means nothing",
            "see 'etcdctl auth enable'"};
  }
  return {Verdict::ok, subject, "authentication is enabled, and user " + user + " logged in", ""};
}

Finding examine_alarms(Gateway& gateway, const CallLimit& limit) {
  const auto reply =
      gateway.ask("/v3/maintenance/alarm", R"({"action":"GET"})", Repeat::yes, limit);
  if (!reply) return {Verdict::unknown, "alarms", reply.error().fault.why, ""};
  const Json& alarms = member_of(reply->json, "alarms");
  if (!alarms.is_array() || alarms.empty()) return {Verdict::ok, "alarms", "none", ""};
  const auto alarm = text_of(alarms.front(), "alarm");
  const bool is_full = alarm == "NOSPACE";
  return {Verdict::fail, "alarms", base::printable(alarm),
          is_full ? "no lock can be taken: compact, defragment and disarm, see 'etcdctl alarm'"
                  : "see 'etcdctl alarm list'"};
}

/// The shortest lease that the cluster grants.
Finding examine_leases(Gateway& gateway, const CallLimit& limit) {
  const auto reply = gateway.ask("/v3/lease/grant", R"({"TTL":"1"})", Repeat::no, limit);
  if (!reply) return {Verdict::fail, "leases", reply.error().fault.why, ""};
  const auto seconds = number_of(reply->json, "TTL").value_or(0);
  const auto number = number_of(reply->json, "ID").value_or(0);
  const Json body{{"ID", std::to_string(number)}};
  (void)gateway.ask("/v3/lease/revoke", body.dump(), Repeat::yes, limit);
  return {Verdict::ok, "leases", fmt::format("whole seconds, at least {}", seconds), ""};
}

}  // namespace

Findings examine(const Etcd& cluster, const LockName& name, const CallLimit& limit) {
  Gateway gateway{cluster};
  // It is told after a majority has confirmed it.
  const Json range{{"key", base64_of(cluster.prefix)}, {"keys_only", true}};
  const auto first =
      gateway.ask("/v3/kv/range", range.dump(), Repeat::yes, for_the_first_answer(limit));
  if (!first) {
    const Fault& fault = first.error().fault;
    const bool refused = fault.kind == Fault::Kind::denied;
    if (!refused || !first.error().says("permission denied")) {
      return {{Verdict::fail, "reachable", fault.why,
               refused ? "check user and password"
                       : "check the URL, the network, and that a majority of the members is up"}};
    }
  }
  Findings findings{{Verdict::ok, "reachable", "a majority of the members answers", ""}};
  const auto half = limit.at_most(Deadline::after(base::now(), limit.until.left(base::now()) / 2));
  for (auto& each : examine_members(cluster, half)) findings.push_back(std::move(each));
  findings.push_back(examine_quorum(cluster, gateway, limit));
  findings.push_back(examine_access(cluster, gateway));
  findings.push_back(examine_alarms(gateway, limit));
  findings.push_back(examine_leases(gateway, limit));
  const auto advice = [](const Fault& fault) {
    return fault.kind == Fault::Kind::denied
               ? "the user needs a role with the right to read and write below the prefix"
               : "";
  };
  findings.push_back(try_locking(*open_store(cluster), name, advice, limit));
  return findings;
}

}  // namespace store::etcd
