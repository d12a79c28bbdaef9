#include "store/redis/redis.hpp"

#include <fnmatch.h>

#include <algorithm>
#include <set>

#include "os/host.hpp"
#include "store/redis/cluster.hpp"
#include "store/redis/keys.hpp"
#include "store/redis/scripts.hpp"
#include "store/redis/wait.hpp"
#include "store/rules/runs.hpp"

namespace store::redis {
namespace {

// Keys examined by a SCAN step: some hundred µs of the server's time.
constexpr const char* scan_step = "1000";
// The time in which all keys must be named: a million on a server nearby take a second.
constexpr Millis slowest_scan{30'000};
// Locks that are asked about at once: half a ms of the server's time, in which nobody else is
// answered, and an eighth of the round trips. It is asked about one, and then about twice as many
// each time until the answers take more memory than this: it answers nobody while it works on a
// portion.
constexpr std::size_t largest_portion = 8;
constexpr std::size_t small_answers = std::size_t{64} << 10;
// A scan begins again where its connection was lost.
constexpr int most_beginnings = 3;

// No server's clock is later, in the year 2286: a time that a lying one names must not become the
// length of a timeline.
constexpr std::uint64_t latest_time_ms = 9'999'999'999'999;

/// Each once: a lock whose slot moves may be on two nodes.
void sort_by_name(std::vector<LockReport>& locks) {
  std::sort(locks.begin(), locks.end(),
            [](const auto& one, const auto& other) { return one.name < other.name; });
  const auto twice =
      std::unique(locks.begin(), locks.end(),
                  [](const auto& one, const auto& other) { return one.name == other.name; });
  locks.erase(twice, locks.end());
}

/// Many requests, each with a limit of its own.
struct Asking {
  Millis each_answer;
  CallLimit limit;

  [[nodiscard]] CallLimit one(Moment asked_at = base::now()) const {
    return limit.at_most(Deadline::after(asked_at, each_answer));
  }
  enum class On { any_connection, same_connection };
  Result<Reply> ask(Client& client, const Command& command, On on) const {
    const auto asked_at = base::now();
    const CallLimit within = one(asked_at);
    auto answer = on == On::any_connection ? client.ask(command, within)
                                           : client.ask_same_connection(command, within);
    if (answer) return answer;
    Fault fault = std::move(answer).error();
    say_limit(fault, asked_at, within.until);
    return fault;
  }
};

/// From the answer of inspect.lua.
std::vector<HolderReport> holders_in(const Fields& lock) {
  const auto first = holder_in(lock["holder"]);
  if (!first) return {};
  const Reply several = lock["holders"];
  if (several.size() == 0) {
    const bool granted = first->kind == Holder::Kind::holder || first->kind == Holder::Kind::kept;
    return {{*first, granted ? unsigned_in(lock["fence"]) : std::nullopt}};
  }
  std::vector<HolderReport> holders;
  for (std::size_t i = 0; i < several.size(); ++i) {
    const Reply each = several[i];
    const Fields fields{each};
    HolderReport one{*first, unsigned_in(fields["fence"])};
    one.permit = number_in(fields["permit"]);
    one.holder.others = 0;
    one.holder.reason.clear();
    one.holder.kind = fields["kept"].integer() == 1 ? Holder::Kind::kept : Holder::Kind::holder;
    one.holder.token = fields["token"].text();
    one.holder.expires_in = length_in(fields["left"]);
    one.holder.held_for = length_if_in(fields["held"]);
    holders.push_back(std::move(one));
  }
  return holders;
}

std::vector<Run> runs_in(const Fields& lock) {
  std::vector<Run> runs;
  const Reply lines = lock["runs"];
  const auto now = unsigned_in(lock["now"]);
  if (!now || *now > latest_time_ms) return runs;
  for (std::size_t i = 0; i + 1 < lines.size(); i += 2) {
    const bool holds = lines[i + 1].integer() == 1;
    auto run = run_in(lines[i].text(), static_cast<std::int64_t>(*now), holds);
    if (run) runs.push_back(*std::move(run));
  }
  return runs;
}

/// From the answer of inspect.lua.
Result<LockReport> report_in(const Reply& reply, LockName name) {
  if (reply[0].text() != "lock") return nonsense();
  const Fields lock{reply, 1};
  LockReport report{
      std::move(name), std::nullopt, holders_in(lock), unsigned_in(lock["fence"]), {}};
  if (const auto mode = lock["mode"]; !mode.text().empty()) report.mode = mode_in(mode.text());
  const Reply waiters = lock["waiters"];
  for (std::size_t i = 0; i + 1 < waiters.size(); i += 2) {
    auto [token, mode] = waiter_in(waiters[i].text());
    const bool is_known = waiters[i + 1].integer() >= 0;
    report.waiters.push_back({std::move(token), mode,
                              is_known ? std::optional{length_in(waiters[i + 1])} : std::nullopt});
  }
  report.runs = runs_in(lock);
  return report;
}

Result<LockReport> inspect_one(Client& client, const LockName& name,
                               const std::vector<std::string>& runs, const CallLimit& limit) {
  auto answer = client.run_script(scripts::inspect, name, runs, limit);
  if (!answer) return std::move(answer).error();
  return report_in(*answer, name);
}

/// The answers about a portion of the locks; nothing for one to be asked about alone.
Result<std::vector<std::optional<Reply>>> inspect_each(Client& client,
                                                       const std::vector<LockName>& names,
                                                       const std::vector<std::string>& runs,
                                                       const Asking& asking) {
  auto asked_at = base::now();
  auto answers = client.run_script_on_each(scripts::inspect, names, runs, [&] {
    asked_at = base::now();
    return asking.one(asked_at);
  });
  if (answers) return answers;
  Fault fault = std::move(answers).error();
  // An answer that nobody can use is about one of them, and so may a refusal be.
  if (fault.kind == Fault::Kind::unusable || fault.kind == Fault::Kind::denied) {
    return std::vector<std::optional<Reply>>(names.size());
  }
  say_limit(fault, asked_at, asking.one(asked_at).until);
  return fault;
}

/// The names of one server's locks.
Result<std::set<LockName>> scan(Client& client, const std::string& pattern, Listed which,
                                const Asking& asking) {
  std::set<LockName> names;
  const std::string glob{glob_of(which)};
  const std::string beginning = "0";
  std::string cursor = beginning;
  std::size_t size = 0;
  const auto until = Deadline::after(base::now(), slowest_scan);
  for (int begun = 1;;) {
    // A server that always has another page must also come to an end.
    if (until.passed(base::now())) {
      return Fault{Fault::Kind::silent, "it names keys for more than 30s, without an end"};
    }
    // A cursor means nothing to another server, where a new connection may lead.
    const auto on = cursor == beginning ? Asking::On::any_connection : Asking::On::same_connection;
    auto answer = asking.ask(client, {"SCAN", cursor, "MATCH", glob, "COUNT", scan_step}, on);
    if (!answer && cursor != beginning && begun < most_beginnings && !ended(asking.limit)) {
      cursor = beginning;
      ++begun;
      continue;
    }
    if (!answer) return std::move(answer).error();
    const Reply& reply = *answer;
    if (reply.size() != 2 || !unsigned_in(reply[0])) return nonsense();
    cursor = reply[0].text();
    const Reply keys = reply[1];
    for (std::size_t i = 0; i < keys.size(); ++i) {
      const auto name = lock_listed_by(keys[i].text(), which);
      if (!name || ::fnmatch(pattern.c_str(), name->text().c_str(), 0) != 0) continue;
      if (owner_of_key(name->text())) continue;  // another lock's key, and no name of a lock
      if (names.insert(*name).second) size += name->text().size() + sizeof(LockReport);
      if (size > longest_list) return too_long_a_list();
    }
    if (cursor.empty() || cursor == beginning) return names;
  }
}

/// Adds one server's locks to `listing`, sorted by name. One that cannot be read hides no other.
Result<base::Done> add_locks(Client& client, const std::string& pattern, Listed which,
                             const Asking& asking, Listing& listing) {
  auto names = scan(client, pattern, which, asking);
  if (!names) return std::move(names).error();
  const std::vector<std::string> runs{
      std::to_string(which == Listed::in_use ? 1 : rules::remembered_runs)};
  std::vector<LockName> asked;
  for (std::size_t portion = 1; !names->empty();) {
    asked.clear();
    while (asked.size() < portion && !names->empty()) {
      asked.push_back(std::move(names->extract(names->begin()).value()));
    }
    auto answers = inspect_each(client, asked, runs, asking);
    if (!answers) return std::move(answers).error();
    std::size_t taken = 0;
    for (std::size_t i = 0; i < asked.size(); ++i) {
      const auto& answer = (*answers)[i];
      auto report =
          answer ? report_in(*answer, asked[i]) : inspect_one(client, asked[i], runs, asking.one());
      if (report) taken += size_of(*report);
      const auto end = report ? listing.add(*std::move(report), which)
                              : listing.add_unread(asked[i], std::move(report).error());
      if (end) return *end;
    }
    portion = taken > small_answers ? 1 : std::min(largest_portion, 2 * portion);
  }
  return base::Done{};
}

/// The keys of a slot go one by one from a node that may be asked later to one that has been asked.
/// Without the right to ask for that, a move that ends meanwhile is seen by the layout.
void note_moving_slot(Client& client, const Asking& asking, Listing& listing) {
  const auto nodes = asking.ask(client, {"CLUSTER", "NODES"}, Asking::On::any_connection);
  if (!nodes && !refuses_command(nodes.error())) listing.missing = nodes.error();
  if (!nodes) return;
  if (const auto slot = moving_slot_in(nodes->text())) {
    listing.doubt = "slot " + *slot + " of the Cluster is being moved: locks of it may be missing";
  }
}

void append(std::vector<std::string>& arguments, const std::vector<Token>& tokens) {
  for (const Token& token : tokens) arguments.push_back(token.text());
}

class RedisAdmin final : public LockAdmin {
 public:
  explicit RedisAdmin(const RedisServer& server) : access_{server.access}, client_{server} {}

  Result<LockReport> inspect(const LockName& name, const CallLimit& limit) override {
    return inspect_one(client_, name, {std::to_string(rules::remembered_runs)}, limit);
  }

  Result<Listing> list(const std::string& pattern, Listed which, Millis each_answer,
                       const CallLimit& limit) override {
    const Asking asking{each_answer, limit};
    const auto asked_at = base::now();
    auto masters = masters_of(client_, asking.one(asked_at));
    if (!masters) {
      Fault fault = std::move(masters).error();
      say_limit(fault, asked_at, asking.one(asked_at).until);
      return fault;
    }
    Listing listing;
    listing.missing = std::move(masters->missing);
    if (masters->unknown) {
      listing.doubt =
          "not allowed to ask whether this is a Cluster (+cluster|slots): if it is one, the locks "
          "on "
          "its other nodes are missing";
    }
    if (masters->nodes.empty()) {
      auto all = add_locks(client_, pattern, which, asking, listing);
      if (!all) return std::move(all).error();
      return listing;
    }
    for (const auto& node : masters->nodes) {
      Client client{RedisServer{RedisServer::Nodes{node}, access_}};
      auto all = add_locks(client, pattern, which, asking, listing);
      if (all) {
        note_moving_slot(client, asking, listing);
        continue;
      }
      Fault fault = named(node, std::move(all).error());
      if (ended(asking.limit) || fault.kind == Fault::Kind::unusable) return fault;
      // Show the others: they may be all that is available now.
      listing.missing = std::move(fault);
    }
    sort_by_name(listing.locks);
    if (listing.missing) return listing;
    // A slot that moved to a node that had been asked before took its locks along.
    auto now = masters_of(client_, asking.one());
    if (!now) {
      listing.missing = std::move(now).error();
    } else if (now->layout != masters->layout) {
      listing.missing = Fault{Fault::Kind::unavailable, "slots of the Cluster moved meanwhile"};
    }
    return listing;
  }

  Result<Removal> force_release(const LockName& name, const std::vector<Token>& shown,
                                const std::string& by, const CallLimit& limit) override {
    // Only an rlock reads a mailbox.
    const bool listens = std::any_of(shown.begin(), shown.end(),
                                     [](const Token& token) { return token.parts().has_value(); });
    std::vector<std::string> arguments{std::to_string(confirm_within.count()),
                                       listens ? reply_id_ : "", by};
    append(arguments, shown);
    auto answer = client_.run_script(scripts::force_release, name, arguments, limit);
    if (!answer) return std::move(answer).error();
    const Reply& reply = *answer;
    if (reply[0].text() == "removed") return Removal{Removed{}};
    if (reply[0].text() == "changed") {
      return Removal{Changed{holder_in(Fields{reply, 1}["holder"])}};
    }
    return nonsense();
  }

  Result<std::size_t> ask_to_stop(const LockName& name, const std::vector<Token>& whom,
                                  const std::string& why, const CallLimit& limit) override {
    std::vector<std::string> arguments{reply_id_, why};
    append(arguments, whom);
    auto answer = client_.run_script(scripts::ask_to_stop, name, arguments, limit);
    if (!answer) return std::move(answer).error();
    const Reply& reply = *answer;
    if (!reply.is_integer()) return nonsense();
    return static_cast<std::size_t>(std::max<std::int64_t>(reply.integer(), 0));
  }

  LastWord await_last_word(const LockName& name, const CallLimit& limit) override {
    const base::Millis length = limit.until.left(base::now());
    const std::string mailbox = LockKeys{name}.mailbox + reply_id_;
    // The server's timer is coarse: ours decides, and drops the connection.
    const auto answer = client_.ask(blocking_pop({mailbox}, length + Millis{1000}), limit);
    return answer && (*answer)[1].text() == "stopped" ? LastWord::stopped : LastWord::silence;
  }

 private:
  RedisServer::Access access_;
  Client client_;
  // The address for a removed holder's last word.
  std::string reply_id_ = os::random_hex(20);
};

}  // namespace

std::unique_ptr<LockAdmin> open_admin(const RedisServer& server) {
  return std::make_unique<RedisAdmin>(server);
}

}  // namespace store::redis
