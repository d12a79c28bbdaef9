// The judge's view of a server that keeps records: each one that it was given.
#include <fmt/format.h>

#include <algorithm>

#include "bounds.hpp"
#include "judge.hpp"
#include "records_on_redis.hpp"
#include "scripts.hpp"
#include "store/records/record.hpp"
#include "store/redis/scripts.hpp"

namespace sim {

/// A record was written there.
void Judge::recorded(Server& server, const Words& words, Micros now) {
  const auto written = record_written_by(words);
  if (!written) return;
  const auto record = store::records::record_in(written->text);
  if (!record) throw Violation{"a record that cannot be read"};
  const auto& state = record->state;
  Lock& lock = locks_[{server.number, written->lock}];
  const auto in_world = [&](std::int64_t ends_ms) {
    return world_.now() + (ends_ms * 1000 - now) * 1000;
  };
  // A waiter dismissed by that change cannot be overtaken.
  std::erase_if(lock.waiters, [&](const auto& each) {
    const auto is_it = [&](const auto& other) {
      return other.token.text() == token_of(each.first);
    };
    return !is_unwell(each.second) && std::none_of(state.queue.begin(), state.queue.end(), is_it) &&
           std::none_of(state.holders.begin(), state.holders.end(), is_it);
  });
  for (const auto& hold : state.holders) {
    const auto& token = hold.token.text();
    const auto before = lock.fences.find(token);
    if (before != lock.fences.end() && before->second == hold.fence) continue;
    if (hold.fence <= lock.last_fence) {
      throw Violation{fmt::format("a record gives fence {} after {}", hold.fence, lock.last_fence)};
    }
    lock.last_fence = hold.fence;
    lock.fences[token] = hold.fence;
    ++grants_;
    const auto id = store::redis::queue_id(hold.token, state.mode);
    if (plan_.is_calm()) see_order(lock, id);
    if (plan_.is_calm() && id == token) see_idle(lock, id);
  }
  for (const auto& letter : state.letters) {
    if (lock.letters.emplace(letter.to, letter.text).second) {
      told(server, lock, letter.to, letter.text);
    }
  }
  Nanos ends = 0;
  for (const auto& [token, until] : lock.holders) lock.given_back.insert(token);
  lock.holders.clear();
  for (const auto& hold : state.holders) {
    const Nanos until = in_world(hold.ends);
    lock.leases[hold.token.text()] = until + ms;
    lock.given_back.erase(hold.token.text());
    if (until > world_.now()) lock.holders[hold.token.text()] = until;
    ends = std::max(ends, until);
  }
  const bool taken = !lock.holders.empty();
  const bool was_taken = lock.taken;
  if (!taken && was_taken) {
    lock.ended_by_itself = lock.ends <= world_.now();
    lock.idle_since = std::min(lock.ends, world_.now());
  }
  lock.taken = taken;
  if (taken) lock.ends = ends + ms;
  // A release tells the second one and the last of its own queue; who comes to the front of an idle
  // lock later was told nothing.
  const bool tells_ranks = taken || (was_taken && !lock.ended_by_itself);
  // One that was dropped as dead, or stopped, may still be why others are late.
  std::map<std::string, Waiter> waiters;
  for (const auto& each : lock.waiters) {
    if (is_unwell(each.second)) waiters.insert(each);
  }
  for (std::size_t i = 0; i < state.queue.size(); ++i) {
    const auto& wait = state.queue[i];
    const auto id = store::redis::queue_id(wait.token, wait.mode);
    const auto known = lock.waiters.find(id);
    Waiter waiter{client_of(id), world_.now(), static_cast<double>(wait.ticket),
                  static_cast<std::int64_t>(i)};
    if (known != lock.waiters.end()) {
      waiter.since = known->second.since;
      if (!tells_ranks) waiter.ahead = known->second.ahead;
    }
    waiters.insert_or_assign(id, waiter);
  }
  lock.waiters = std::move(waiters);
}

/// A word that a record has now, and must not be lost.
void Judge::told(Server& server, Lock& lock, const std::string& to, const std::string& text) {
  if (text == "stopped") last_words_.insert(to);
  if (text.starts_with("stop ")) {
    told_to_stop_.emplace(to, world_.now());
    const auto reply_ends = std::min(text.find(' ', 5), text.size() - 1);
    answers_[text.substr(reply_ends + 1)].insert(text.substr(5, reply_ends - 5));
  }
  if (!text.starts_with("lost ")) return;
  forced_.emplace(to, world_.now());
  forced_at_[to].insert(server.number);
  forced_last_ = lock.idle_since = world_.now();
  lock.ended.insert(to);
}

}  // namespace sim
