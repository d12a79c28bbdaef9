// The judge's view of several servers together: who has most of them, and since when nobody has.
#include <fmt/format.h>

#include <algorithm>

#include "bounds.hpp"
#include "judge.hpp"
#include "scripts.hpp"

namespace sim {

/// Until when most of the servers keep a key for this token; 0 where they do not.
Nanos Judge::kept_by_most(const std::string& key, const std::string& token) const {
  std::vector<Nanos> ends;
  for (std::size_t server = 0; server < plan_.servers; ++server) {
    const auto lock = locks_.find({server, key});
    if (lock == locks_.end()) continue;
    const auto there = lock->second.holders.find(token);
    if (there != lock->second.holders.end() && there->second > world_.now()) {
      ends.push_back(there->second);
    }
  }
  const auto most = plan_.servers / 2 + 1;
  if (ends.size() < most) return 0;
  std::sort(ends.begin(), ends.end(), std::greater<>{});
  return ends[most - 1];
}

/// After each step at one of the servers.
void Judge::look_at_majority(const std::string& key) {
  Majority& known = majorities_[key];
  // The former holder of most of them may not have them now.
  std::string token = known.token;
  Nanos until = token.empty() ? 0 : kept_by_most(key, token);
  // Of several readers another one may have most of them, and not this one.
  for (std::size_t server = 0; server < plan_.servers && until == 0; ++server) {
    const auto there = locks_.find({server, key});
    if (there == locks_.end()) continue;
    for (const auto& [other, ends] : there->second.holders) {
      if (until > 0 || other == token) continue;
      until = kept_by_most(key, other);
      if (until > 0) token = other;
    }
  }
  if (until == 0) {
    known.until = std::min(known.until, world_.now());
    return;
  }
  if (token != known.token || known.until < world_.now()) {
    // A try of the same client that it gave up leaves the lock as free as it was.
    const bool tries_on = client_of(token) == client_of(known.token) && !known.has_job;
    if (!tries_on) {
      known.free_since = std::min(known.until, world_.now());
      known.since = world_.now();
    }
    known.has_job = began_.contains(token);
    known.token = token;
  }
  known.until = until;
}

/// A client that was in the queues of most servers before another one came is served first, if it
/// came earlier by more than the difference of their clocks.
void Judge::see_order_quorum(const Job& job, const std::string& key) const {
  if (!plan_.is_still()) return;
  const auto [least, most] =
      std::minmax_element(plan_.client_clocks.begin(), plan_.client_clocks.end());
  const Nanos apart = plan_.client_clocks.empty() ? 0 : (*most - *least) * 1000;
  std::map<int, std::size_t> served_later;
  for (std::size_t server = 0; server < plan_.servers; ++server) {
    const auto lock = locks_.find({server, key});
    if (lock == locks_.end()) continue;
    for (const auto& [id, waiter] : lock->second.waiters) {
      if (waiter.client == job.client || waiter.ghost) continue;
      if (waiter.since + apart + arrive_together >= wanted_.at(job.client)) continue;
      if (++served_later[waiter.client] <= plan_.servers / 2) continue;
      throw Violation{
          fmt::format("client {} overtakes client {} on a quorum", job.client, waiter.client)};
    }
  }
}

/// A waiter is woken, and asks seldom: at the end of leases, for signs of life, and in a few rounds
/// at each hand-off.
void Judge::see_bids(int client) const {
  if (!plan_.is_still()) return;
  Nanos shortest = 12 * s;
  for (const ClientPlan& each : plan_.clients) {
    for (const Wish& wish : each.wishes)
      shortest = std::min<Nanos>(shortest, wish.ttl.count() * ms);
  }
  const Nanos waited = world_.now() - wanted_.at(client);
  const auto rounds = 15 + 3 * waited / shortest;
  const auto keys = static_cast<Nanos>(2 * plan_.servers);
  if (bids_.at(client) > rounds * keys) {
    throw Violation{
        fmt::format("client {} asked {} times in {} ms", client, bids_.at(client), waited / ms)};
  }
}

/// Only readers had most of the servers, and no writer waited there, for as long as a reader may
/// need to notice.
void Judge::see_idle_reader_quorum(const Job& job, const std::string& key) const {
  if (job.mode.kind != store::Mode::Kind::shared || !plan_.nobody_dies()) return;
  std::vector<Nanos> since;
  for (std::size_t server = 0; server < plan_.servers; ++server) {
    const auto found = locks_.find({server, key});
    if (found == locks_.end() || !found->second.read) continue;
    const Lock& lock = found->second;
    const bool writer_waits =
        std::any_of(lock.waiters.begin(), lock.waiters.end(),
                    [](const auto& each) { return each.first == token_of(each.first); });
    if (!writer_waits) since.push_back(lock.readable_since);
  }
  const auto most = plan_.servers / 2 + 1;
  if (since.size() < most) return;
  std::sort(since.begin(), since.end());
  const Nanos idle = world_.now() - std::max(wanted_.at(job.client), since[most - 1]);
  if (idle > between_bids) {
    throw Violation{fmt::format("reader {} waits for {} ms although only readers have '{}'",
                                job.client, idle / ms, key)};
  }
}

/// Those who want it of a quorum may be in each other's way.
void Judge::see_idle_quorum(const Job& job) {
  if (plan_.servers == 1 || job.client == 0) return;
  see_bids(job.client);
  Nanos wanted = wanted_.at(job.client);
  for (std::size_t i = 0; i < job.keys.size(); ++i) {
    Majority& lock = majorities_[job.keys[i]];
    began_.insert(job.tokens[i]);
    if (job.keys.size() == 1) see_idle_reader_quorum(job, job.keys[i]);
    if (lock.token != job.tokens[i]) return;
    lock.has_job = true;
    see_order_quorum(job, job.keys[i]);
    // Of several locks the next one is asked for when the one before is there.
    const Nanos had = i + 1 == job.keys.size() ? world_.now() : lock.since;
    const Nanos idle = had - std::max(wanted, lock.free_since);
    if (plan_.nobody_dies() && idle > between_bids) {
      throw Violation{fmt::format("client {} has '{}', which was free, after {} ms only",
                                  job.client, job.keys[i], idle / ms)};
    }
    wanted = std::max(wanted, lock.since);  // an earlier try of its own may have had it
  }
}

/// Nobody had most of the servers for as long as it takes to ask again, and it asked for one lock.
void Judge::gave_up_idle_quorum(int client, const std::string& key) {
  if (!plan_.nobody_dies()) return;
  const Majority& lock = majorities_[key];
  const Nanos idle = world_.now() - std::max({wanted_.at(client), lock.until, forced_last_});
  if (idle > between_bids) {
    throw Violation{
        fmt::format("client {} gives up '{}', which was free for {} ms", client, key, idle / ms)};
  }
}

/// One server's answer is not decisive: most of them decide.
void Judge::lost(const Job& job, const std::string& key) const {
  if (plan_.servers == 1) return;
  const auto at = std::find(job.keys.begin(), job.keys.end(), key) - job.keys.begin();
  const std::string& token = job.tokens.at(static_cast<std::size_t>(at));
  const auto forced = forced_at_.find(token);
  const std::size_t servers = forced == forced_at_.end() ? 0 : forced->second.size();
  if (servers <= plan_.servers / 2 && kept_by_most(key, token) > world_.now() + at_once) {
    throw Violation{
        fmt::format("client {} gives up '{}', which most servers keep for it", job.client, key)};
  }
}

/// One for which the lock was only reserved goes on asking, and may have it before the operator
/// hears that this was taken away.
bool Judge::granted_since_forced(const std::string& key, const std::string& token) const {
  const auto forced = forced_.find(token);
  return forced != forced_.end() &&
         std::any_of(locks_.begin(), locks_.end(), [&](const auto& each) {
           const auto granted = each.second.granted.find(token);
           return each.first.second == key && granted != each.second.granted.end() &&
                  granted->second > forced->second;
         });
}

/// If the answer says that these holders lost the lock, none of them has it.
void Judge::took_away(const std::string& key, const std::vector<store::Token>& tokens) const {
  if (!plan_.nobody_dies()) return;
  for (const store::Token& each : tokens) {
    const Nanos until = kept_by_most(key, each.text());
    if (until > world_.now() && !granted_since_forced(key, each.text())) {
      throw Violation{fmt::format("client {} keeps for {} ms what was taken from it",
                                  client_of(each.text()), (until - world_.now()) / ms)};
    }
  }
}

}  // namespace sim
