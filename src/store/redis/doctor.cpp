#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

#include "base/result.hpp"
#include "base/text.hpp"
#include "store/redis/cluster.hpp"
#include "store/redis/keys.hpp"
#include "store/redis/redis.hpp"

namespace store::redis {
namespace {

using Verdict = Finding::Verdict;

constexpr auto not_allowed = "not allowed to ask";
// People compare the times of `inspect` with those in their logs.
constexpr std::int64_t tolerable_offset_ms = 500;

/// The answers of INFO and CONFIG GET, as far as they are permitted.
class ServerInfo {
 public:
  ServerInfo(Client& client, const CallLimit& limit);

  /// A line of INFO, or a parameter; nothing if unknown or forbidden.
  [[nodiscard]] std::optional<std::string> line(const std::string& name) const;
  [[nodiscard]] std::optional<std::string> parameter(const std::string& name) const;

 private:
  std::map<std::string, std::string> lines_;
  std::map<std::string, std::string> parameters_;
};

std::optional<std::string> found(const std::map<std::string, std::string>& map,
                                 const std::string& name) {
  const auto entry = map.find(name);
  if (entry == map.end()) return std::nullopt;
  return entry->second;
}

ServerInfo::ServerInfo(Client& client, const CallLimit& limit) {
  const auto info = client.ask({"INFO"}, limit);
  if (info) {
    std::string_view text = info->text();
    while (!text.empty()) {
      const auto line = text.substr(0, text.find("\r\n"));
      text.remove_prefix(std::min(line.size() + 2, text.size()));
      const auto colon = line.find(':');
      if (colon == std::string_view::npos) continue;
      lines_.emplace(line.substr(0, colon), line.substr(colon + 1));
    }
  }
  for (const char* name : {"maxmemory-policy", "min-replicas-to-write", "save"}) {
    const auto answer = client.ask({"CONFIG", "GET", name}, limit);
    if (answer && answer->size() == 2) parameters_.emplace(name, (*answer)[1].text());
  }
}

std::optional<std::string> ServerInfo::line(const std::string& name) const {
  return found(lines_, name);
}

std::optional<std::string> ServerInfo::parameter(const std::string& name) const {
  return found(parameters_, name);
}

/// A server's text about itself.
std::string shown(const std::string& text) {
  constexpr std::size_t most = 100;
  return base::printable(text, most);
}

Finding unknown(const char* subject) {
  return {Verdict::unknown, subject, not_allowed, ""};
}

bool says(const Fault& fault, std::string_view words) {
  return fault.why.find(words) != std::string::npos;
}

std::string advice_on_reaching(const Fault& fault) {
  if (fault.kind == Fault::Kind::denied) {
    return "check user and password, or the rights of that user";
  }
  if (says(fault, "MISCONF")) {
    return "the server cannot save its data and takes no writes: see its log and its disk";
  }
  if (says(fault, "LOADING")) return "it loads its data: wait, or see its log";
  if (says(fault, "MASTERDOWN")) return "it is a replica without its master: see replication";
  if (fault.kind == Fault::Kind::unavailable) return "it is up, and cannot now: see its log";
  return "check the URL, the network, and that the server is up";
}

Finding reachable(Client& client, const CallLimit& limit) {
  std::array<double, 5> times{};
  for (double& time : times) {
    const Moment before = base::now();
    const auto answer = client.ask({"PING"}, limit);
    if (!answer) {
      return {Verdict::fail, "reachable", answer.error().why, advice_on_reaching(answer.error())};
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
  const auto most = info.line("maxmemory");
  const bool limited = !most || *most != "0";
  const char* more = "";
  if (!most) more = ", maxmemory is not known";
  if (!limited) more = ", and there is no maxmemory";
  const std::string seen = fmt::format("maxmemory-policy is {}{}", shown(*policy), more);
  if (*policy == "noeviction") return {Verdict::ok, "eviction", seen, ""};
  return {limited ? Verdict::fail : Verdict::warn, "eviction", seen,
          "a lock is a key with an expiry and may be evicted: set it with "
          "redis-cli config set maxmemory-policy noeviction, and in redis.conf"};
}

Finding persistence(const ServerInfo& info) {
  const auto append_only = info.line("aof_enabled");
  const auto save = info.parameter("save");
  if (!append_only) return unknown("persistence");
  if (*append_only == "1") return {Verdict::ok, "persistence", "appendonly yes", ""};
  if (!save) {
    // A managed server reports past saves, but not whether it will save again.
    const auto saved = info.line("rdb_saves");
    const bool some = saved && *saved != "0";
    return {Verdict::unknown, "persistence",
            fmt::format("no append-only file; {}whether it makes snapshots: {}",
                        some ? "it has made snapshots; " : "", not_allowed),
            "a restart of the server may lose held locks: see its settings"};
  }
  return {
      Verdict::warn, "persistence", save->empty() ? "none" : "snapshots only",
      "a restart of the server loses held locks: set it with redis-cli config set appendonly yes, "
      "and in redis.conf"};
}

Finding replicas(const ServerInfo& info) {
  const auto role = info.line("role");
  const auto count = info.line("connected_slaves");
  if (!role || !count) return unknown("replicas");
  if (*role != "master") {
    return {Verdict::fail, "replicas", "this is a replica", "use its master, or redis+sentinel://"};
  }
  if (*count == "0") return {Verdict::ok, "replicas", "none is connected", ""};
  const auto least = info.parameter("min-replicas-to-write");
  const std::string seen = fmt::format("{} connected, min-replicas-to-write is {}", shown(*count),
                                       least ? shown(*least) : not_allowed);
  if (least && *least != "0") return {Verdict::ok, "replicas", seen, ""};
  return {Verdict::warn, "replicas", seen,
          "a master that is cut off goes on granting locks: set it with redis-cli config set "
          "min-replicas-to-write 1, and in redis.conf; and see --sync-replicas"};
}

Finding clock(Client& client, const CallLimit& limit) {
  const auto wall = [] { return std::chrono::system_clock::now().time_since_epoch(); };
  const auto before = wall();
  const auto answer = client.ask({"TIME"}, limit);
  const auto middle = before + (wall() - before) / 2;
  if (!answer || answer->size() != 2) return unknown("clock");
  // The server may send anything; calculate only with bounded numbers.
  const auto number = [&](std::size_t i, long long most) {
    return std::clamp(std::atoll(std::string{(*answer)[i].text()}.c_str()), 0LL, most);
  };
  const std::int64_t server_ms = number(0, 100'000'000'000) * 1000 + number(1, 999'999) / 1000;
  const auto offset = server_ms - std::chrono::duration_cast<Millis>(middle).count();
  const bool fine = std::abs(offset) <= tolerable_offset_ms;
  return {
      fine ? Verdict::ok : Verdict::warn, "clock", fmt::format("{:+} ms against this host", offset),
      fine ? ""
           : "run NTP on both. A clock that goes back keeps the lock of a dead holder for so much "
             "longer, one that goes forward ends leases early; to free a lock that stays: rlock "
             "force-release KEY"};
}

/// For a Cluster: whether each master answers. The other findings are those of one node.
Findings masters(Client& client, const RedisServer::Access& access, const CallLimit& limit) {
  const auto known = masters_of(client, limit);
  if (!known)
    return {{Verdict::fail, "cluster", known.error().why, advice_on_reaching(known.error())}};
  if (known->nodes.empty() && !known->missing) return {};
  std::string silent = known->missing ? known->missing->why : "";
  const auto nodes = known->nodes.size();
  for (std::size_t i = 0; i < nodes; ++i) {
    const auto now = base::now();
    const auto share = limit.until.left(now) / static_cast<Millis::rep>(nodes - i + 1);
    const CallLimit turn = limit.at_most(Deadline::after(now, share));
    const auto& node = known->nodes[i];
    auto opened = Connection::open(node, access, turn);
    const auto answer = opened ? opened->ask({"PING"}, turn) : Result<Reply>{opened.error()};
    if (answer || refuses_command(answer.error())) continue;
    silent += (silent.empty() ? "" : "; ") + named(node, answer.error()).why;
  }
  if (!silent.empty()) {
    return {{Verdict::fail, "cluster", silent, "no lock can be had whose slot such a node has"}};
  }
  return {{Verdict::ok, "cluster",
           fmt::format("{} masters answer; what else is said here is of {}", nodes,
                       client.host().empty() ? "one of them" : shown(client.host())),
           ""}};
}

/// Whether each sentinel sees enough others for a failover.
Findings sentinels(const RedisServer::Sentinels& sentinels, const RedisServer::Access& access,
                   const CallLimit& limit) {
  Findings findings;
  const auto nodes = sentinels.nodes.size();
  for (std::size_t i = 0; i < nodes; ++i) {
    const auto& node = sentinels.nodes[i];
    const auto now = base::now();
    const auto share = limit.until.left(now) / static_cast<Millis::rep>(nodes - i + 1);
    const CallLimit turn = limit.at_most(Deadline::after(now, share));
    const auto subject = fmt::format("sentinel {}", i + 1);
    const auto address = fmt::format("{}:{}", shown(node.host), node.port);
    auto opened = Connection::open(node, {sentinels.login, 0, access.tls}, turn);
    auto answer = opened ? opened->ask({"SENTINEL", "CKQUORUM", sentinels.master}, turn)
                         : Result<Reply>{opened.error()};
    if (answer) {
      findings.push_back({Verdict::ok, subject, address + " could decide on a failover", ""});
    } else if (answer.error().kind == Fault::Kind::denied) {
      findings.push_back({Verdict::unknown, subject, fmt::format("{} {}", address, not_allowed),
                          "it takes +sentinel|ckquorum"});
    } else {
      const bool there = static_cast<bool>(opened);
      findings.push_back({there ? Verdict::fail : Verdict::warn, subject,
                          fmt::format("{}: {}", address, answer.error().why),
                          there ? "without a majority of the sentinels there is no failover"
                                : "the others are asked; see that it comes back"});
    }
  }
  return findings;
}

std::string advice_on_locking(const Fault& fault) {
  if (says(fault, "MISCONF")) return advice_on_reaching(fault);
  if (fault.kind == Fault::Kind::denied) {
    return "rlock-protocol(7), PERMISSIONS, lists the rights that rlock needs";
  }
  if (refuses_command(fault)) {
    return "this server, or a proxy before it, forbids a command that rlock cannot do without: "
           "rlock-protocol(7), MANAGED SERVERS, lists them";
  }
  return "";
}

/// `seen`: what the server allows, if it does.
Finding allowed(const char* subject, const char* seen, Client& client, const Command& command,
                const char* advice, Verdict otherwise, const CallLimit& limit) {
  const auto answer = client.ask(command, limit);
  if (!answer) {
    return {otherwise, subject, answer.error().why, refuses_command(answer.error()) ? advice : ""};
  }
  return {Verdict::ok, subject, seen, ""};
}

/// Whether runs are recorded. The scripts ignore a missing right for it, because it is no reason to
/// refuse a lock.
Finding memory(Client& client, const LockName& name, const CallLimit& limit) {
  const std::string key = LockKeys{name}.mailbox + "doctor-memory";
  std::string denied;
  bool all_answered = true;
  for (const Command& command : {Command{"lpush", key, "x"}, Command{"lindex", key, "0"},
                                 Command{"lrange", key, "0", "0"}, Command{"lset", key, "0", "y"},
                                 Command{"ltrim", key, "0", "0"}, Command{"lrem", key, "1", "y"}}) {
    const auto answer = client.ask(command, limit);
    all_answered = all_answered && answer;
    if (!answer && refuses_command(answer.error())) denied += " +" + command.front();
  }
  (void)client.ask({"DEL", key}, limit);
  if (!denied.empty()) {
    return {Verdict::warn, "memory", "runs are not recorded",
            "`rlock log`, `rlock overdue` and --reason need" + denied + " on ~{KEY}:*"};
  }
  if (!all_answered) return {Verdict::unknown, "memory", "it could not be tried", ""};
  return {Verdict::ok, "memory", "the last runs of each lock are recorded", ""};
}

}  // namespace

Findings examine(const RedisServer& server, const LockName& name, const CallLimit& limit) {
  Client client{server};
  Findings findings{reachable(client, for_the_first_answer(limit))};
  if (findings.front().verdict == Verdict::fail) return findings;
  const ServerInfo info{client, limit};
  findings.push_back(version(info));
  findings.push_back(try_locking(*open_store(server), name, advice_on_locking, limit));
  const Finding remembers = memory(client, name, limit);
  findings.push_back(allowed(
      "waiting", "a run may wait for a lock", client,
      blocking_pop({LockKeys{name}.mailbox + "doctor"}, Millis{1}),
      "waiters block in their mailbox: allow +blpop on ~{KEY}:*; without it they ask once a "
      "second at most",
      Verdict::fail, limit));
  findings.push_back(remembers);
  findings.push_back(allowed("listing", "locks may be listed", client, {"SCAN", "0", "COUNT", "1"},
                             "only `rlock list` needs +scan", Verdict::warn, limit));
  findings.push_back(eviction(info));
  findings.push_back(persistence(info));
  findings.push_back(replicas(info));
  findings.push_back(clock(client, limit));
  for (auto& each : masters(client, server.access, limit)) findings.push_back(std::move(each));
  if (const auto* some = std::get_if<RedisServer::Sentinels>(&server.where)) {
    for (auto& each : sentinels(*some, server.access, limit)) findings.push_back(std::move(each));
  }
  return findings;
}

}  // namespace store::redis
