// Whether an etcd cluster is fit to hold locks.
#include <fmt/format.h>

#include <algorithm>

#include "base/text.hpp"
#include "store/etcd/client.hpp"
#include "store/etcd/etcd.hpp"
#include "store/etcd/version.hpp"

namespace store::etcd {
namespace {

using Verdict = Finding::Verdict;

std::string name_of(const HostPort& member) {
  return member.host + ":" + member.port;
}

/// Of a member; `alone`: the cluster has no other, so nothing can replace a stuck leader.
Finding examine_version(const std::string& subject, const Json& status, bool alone) {
  const auto version = text_of(status, "version");
  const auto seen = "etcd " + base::printable(version);
  switch (fitness_of(version)) {
    case Fitness::too_old: return {Verdict::fail, subject, seen, "use etcd 3.4 or newer"};
    case Fitness::revokes_leases:
      if (alone) break;
      return {
          Verdict::warn, subject,
          seen + ": a leader that was stuck may revoke leases in use, and then two jobs may run",
          "use etcd 3.4.31, 3.5.13 or newer"};
    case Fitness::fit: break;
  }
  return {Verdict::ok, subject, seen, ""};
}

/// Of each member in the URL: a run goes on without those that are down.
Findings examine_members(const Etcd& cluster, bool alone, const CallLimit& limit) {
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
    } else {
      findings.push_back(examine_version(subject, status->json, alone));
    }
  }
  return findings;
}

/// How many members with a vote the cluster has; or why that is unknown.
using Voters = base::Result<std::ptrdiff_t, std::string>;

Voters count_voters(Gateway& gateway, const CallLimit& limit) {
  const auto reply = gateway.ask("/v3/cluster/member/list", "{}", Repeat::yes, limit);
  if (!reply) return reply.error().fault.why;
  const Json& members = member_of(reply->json, "members");
  const auto voters = std::count_if(members.begin(), members.end(), [](const Json& each) {
    const Json& learner = member_of(each, "isLearner");
    return !(learner.is_boolean() && learner.get<bool>());
  });
  if (!members.is_array() || voters == 0) return std::string{"no list of members"};
  return voters;
}

/// How many of the members may fail, and whether the URL names enough.
Finding examine_quorum(const Etcd& cluster, const Voters& counted) {
  constexpr const char* subject = "quorum";
  if (!counted) return {Verdict::unknown, subject, counted.error(), ""};
  const auto voters = *counted;
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
  const auto half_of = [](const CallLimit& whole) {
    return whole.at_most(Deadline::after(base::now(), whole.until.left(base::now()) / 2));
  };
  const auto half = half_of(limit);
  const auto voters = count_voters(gateway, half_of(half));
  const bool alone = voters && *voters == 1;
  for (auto& each : examine_members(cluster, alone, half)) findings.push_back(std::move(each));
  findings.push_back(examine_quorum(cluster, voters));
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
