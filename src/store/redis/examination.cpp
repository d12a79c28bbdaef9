#include "store/redis/examination.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/result.hpp"
#include "base/text.hpp"
#include "store/redis/companions.hpp"
#include "store/redis/redis_store.hpp"
#include "store/redis/server_info.hpp"

namespace store::redis {
namespace {

using Verdict = Finding::Verdict;

constexpr auto not_allowed = "not allowed to ask";
// Long enough for the three questions of this page, short enough to be over if we die in between.
constexpr Millis trial_lease{10'000};
// People compare the times that `inspect` shows with those of their logs.
constexpr std::int64_t tolerable_offset_ms = 500;

/// What a server says of itself.
std::string shown(const std::string& text) {
  constexpr std::size_t most = 100;
  return base::printable(text, most);
}

Finding unknown(const char* subject) {
  return {Verdict::unknown, subject, not_allowed, ""};
}

Finding reachable(Link& link, const CallLimit& limit) {
  std::array<double, 5> times{};
  for (double& time : times) {
    const Moment before = base::now();
    const auto answer = link.ask({"PING"}, limit);
    if (const auto* fault = std::get_if<Fault>(&answer)) {
      const bool denied = fault->kind == Fault::Kind::denied;
      return {Verdict::fail, "reachable", fault->why,
              denied ? "check user and password, or the rights of that user"
                     : "check the URL, the network, and that the server is up"};
    }
    time = std::chrono::duration<double, std::milli>(base::now() - before).count();
  }
  std::sort(times.begin(), times.end());
  return {Verdict::ok, "reachable", fmt::format("a round trip takes {:.2f} ms", times[2]), ""};
}

Finding version(const ServerInfo& info) {
  const auto version = info.line("redis_version");
  if (!version) return unknown("version");
  const bool old = std::atoi(version->c_str()) < 6;
  return {old ? Verdict::fail : Verdict::ok, "version", shown(*version),
          old ? "use Redis 6.0 or newer, or Valkey" : ""};
}

Finding eviction(const ServerInfo& info) {
  auto policy = info.parameter("maxmemory-policy");
  if (!policy) policy = info.line("maxmemory_policy");
  if (!policy) return unknown("eviction");
  const bool limited = info.line("maxmemory").value_or("0") != "0";
  const std::string seen = fmt::format("maxmemory-policy is {}{}", shown(*policy),
                                       limited ? "" : ", and there is no maxmemory");
  if (*policy == "noeviction") return {Verdict::ok, "eviction", seen, ""};
  return {limited ? Verdict::fail : Verdict::warn, "eviction", seen,
          "a lock is a key with an expiry and may be evicted: set maxmemory-policy noeviction"};
}

Finding persistence(const ServerInfo& info) {
  const auto append_only = info.line("aof_enabled");
  const auto save = info.parameter("save");
  if (!append_only) return unknown("persistence");
  if (*append_only == "1") return {Verdict::ok, "persistence", "appendonly yes", ""};
  const bool snapshots = save && !save->empty();
  return {Verdict::warn, "persistence", snapshots ? "snapshots only" : "none",
          "a restart forgets locks that are held; with appendonly yes it does not"};
}

Finding replicas(const ServerInfo& info) {
  const auto role = info.line("role");
  const auto count = info.line("connected_slaves");
  if (!role || !count) return unknown("replicas");
  if (*role != "master") {
    return {Verdict::fail, "replicas", "this is a replica", "use its master, or redis+sentinel://"};
  }
  if (*count == "0") return {Verdict::ok, "replicas", "none", ""};
  const auto least = info.parameter("min-replicas-to-write");
  const std::string seen = fmt::format("{} connected, min-replicas-to-write is {}", shown(*count),
                                       least ? shown(*least) : not_allowed);
  if (least && *least != "0") return {Verdict::ok, "replicas", seen, ""};
  return {Verdict::warn, "replicas", seen,
          "a master that is cut off goes on granting locks: set min-replicas-to-write 1; and see "
          "--sync-replicas"};
}

Finding clock(Link& link, const CallLimit& limit) {
  const auto wall = [] { return std::chrono::system_clock::now().time_since_epoch(); };
  const auto before = wall();
  const auto answer = link.ask({"TIME"}, limit);
  const auto middle = before + (wall() - before) / 2;
  const auto* time = std::get_if<Reply>(&answer);
  if (time == nullptr || time->size() != 2) return unknown("clock");
  // Whatever it says, there must be something to reckon with.
  const auto number = [&](std::size_t i, long long most) {
    return std::clamp(std::atoll(std::string{(*time)[i].text()}.c_str()), 0LL, most);
  };
  const std::int64_t server_ms = number(0, 100'000'000'000) * 1000 + number(1, 999'999) / 1000;
  const auto offset = server_ms - std::chrono::duration_cast<Millis>(middle).count();
  const bool fine = std::abs(offset) <= tolerable_offset_ms;
  return {fine ? Verdict::ok : Verdict::warn, "clock",
          fmt::format("{:+} ms against this host", offset),
          fine ? "" : "leases do not depend on it; let NTP look after both all the same"};
}

/// As a run does it; whoever holds the lock is not disturbed.
Finding locking(const RedisServer& server, const LockName& name, const CallLimit& limit) {
  const auto store = open_store(server);
  const auto failed = [](const Fault& fault) -> Finding {
    const bool denied = fault.kind == Fault::Kind::denied;
    return {Verdict::fail, "locking", fault.why,
            denied ? "the least rights stand in rlock-protocol(7), PERMISSIONS" : ""};
  };
  const Claim claim{name, Token::mint(*Label::from("doctor")), *Ttl::from(trial_lease),
                    OnBusy::give_up};
  return base::match(
      store->try_acquire(claim, limit),
      [&](const Granted&) -> Finding {
        const auto renewal = store->renew(name, claim.token, claim.ttl, limit);
        if (const auto* fault = std::get_if<Fault>(&renewal)) return failed(*fault);
        const auto release = store->release(name, claim.token, {}, limit);
        if (const auto* fault = std::get_if<Fault>(&release)) return failed(*fault);
        return {Verdict::ok, "locking", "taken, refreshed and released", ""};
      },
      [&](const Fault& fault) -> Finding { return failed(fault); },
      [&](const auto&) -> Finding {
        return {Verdict::ok, "locking", "somebody holds it: not disturbed", ""};
      });
}

Finding allowed(const char* subject, Link& link, const Command& command, const char* advice,
                Verdict otherwise, const CallLimit& limit) {
  const auto answer = link.ask(command, limit);
  if (const auto* fault = std::get_if<Fault>(&answer)) {
    return {otherwise, subject, fault->why, advice};
  }
  return {Verdict::ok, subject, "allowed", ""};
}

}  // namespace

Findings examine(const RedisServer& server, const LockName& name, const CallLimit& limit) {
  Link link{server};
  Findings findings{reachable(link, limit)};
  if (findings.front().verdict == Verdict::fail) return findings;
  const ServerInfo info{link, limit};
  findings.push_back(version(info));
  findings.push_back(locking(server, name, limit));
  findings.push_back(
      allowed("waiting", link, blocking_pop(Companions{name}.mailbox + "doctor", Millis{1}),
              "waiters block in their mailbox: allow +blpop on ~{KEY}:*", Verdict::fail, limit));
  findings.push_back(allowed("listing", link, {"SCAN", "0", "COUNT", "1"},
                             "only `rlock list` needs +scan", Verdict::warn, limit));
  findings.push_back(eviction(info));
  findings.push_back(persistence(info));
  findings.push_back(replicas(info));
  findings.push_back(clock(link, limit));
  return findings;
}

}  // namespace store::redis
