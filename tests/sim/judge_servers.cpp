// The judge's view of a server: the answers of its scripts and its keys.
#include <fmt/format.h>

#include <algorithm>

#include "bounds.hpp"
#include "judge.hpp"
#include "scripts.hpp"

namespace sim {

void Judge::entered(Server& server, Lock& lock, const Words& words, const Reply& reply) {
  if (reply.elements.empty()) throw Violation{"enter answers " + shown(reply)};
  const std::string id = named(words, "id");
  const std::string& outcome = reply.elements[0].text;
  if (!named(words, "supersede").empty()) {
    // Those in the queue may be sent away: who is still there asks again.
    std::erase_if(lock.waiters, [&](const auto& each) { return each.first != id; });
  }
  if (outcome == "granted") granted(server, lock, words, reply);
  const Reply& holder = field(reply, "holder");
  if (outcome == "queued" && field(holder, "token", 0).text == token_of(id) &&
      field(holder, "kind", 0).text == "holder") {
    throw Violation{fmt::format("client {} waits for itself", client_of(id))};
  }
  if (outcome == "queued") {
    const std::string most = named(words, "max_waiters");
    const bool fresh = named(words, "ticket").empty() && !lock.waiters.contains(id);
    const auto ahead = field(reply, "ahead").integer;
    if (fresh && !most.empty() && named(words, "tried").empty() && plan_.is_still() &&
        ahead >= std::stoll(most)) {
      throw Violation{fmt::format("client {} queues behind {} although {} are too many",
                                  client_of(id), ahead, most)};
    }
    const double ticket = std::stod(field(reply, "ticket").text);
    Waiter& waiter =
        lock.waiters.emplace(id, Waiter{client_of(id), world_.now(), ticket, ahead}).first->second;
    if (lock.taken && world_.now() < lock.ends) waiter.ahead = ahead;
    waiter.ghost = lock.given_back.contains(token_of(id));
  }
}

/// Where each wait is cut at once, a waiter does not ask as fast as it is answered.
void Judge::see_pace(int client) {
  const bool cut =
      std::any_of(plan_.incidents.begin(), plan_.incidents.end(), [](const Incident& each) {
        return each.disturbance && each.disturbance->kind == Disturbance::Kind::cut_waits;
      });
  if (!cut || plan_.servers > 1) return;
  Asked& asked = asked_[client];
  if (world_.now() - asked.since >= s) asked = {world_.now(), 0};
  if (++asked.times <= most_in_a_second) return;
  throw Violation{fmt::format("client {} asked {} times within {} ms although its waits are cut",
                              client, asked.times, (world_.now() - asked.since) / ms)};
}

void Judge::granted(Server& server, Lock& lock, const Words& words, const Reply& reply) {
  ++grants_;
  const std::string id = named(words, "id");
  const std::string token = token_of(id);
  const store::Fence fence = std::stoull(field(reply, "fence").text);
  const auto before = lock.fences.find(token);
  const bool again = before != lock.fences.end() && before->second == fence;
  if (!again && fence <= lock.last_fence) {
    throw Violation{
        fmt::format("server {} gives fence {} after {}", server.number, fence, lock.last_fence)};
  }
  if (!again && plan_.is_calm()) {
    see_order(lock, id);
    if (id.starts_with("permits=")) see_idle_permit(lock, id);
    // On a quorum see_idle_reader_quorum() does.
    if (id.starts_with("shared ") && plan_.servers == 1) see_idle_reader(lock, id);
    see_idle(lock, id);
  }
  if (!again) lock.granted[token] = world_.now();
  if (!again && before != lock.fences.end()) lock.unheard.insert(token);
  if (id == token) lock.readable_since = world_.now();
  lock.last_fence = std::max(lock.last_fence, fence);
  lock.fences[token] = fence;
  lock.leases[token] = lease_end(server, named(words, "ttl"));
  lock.waiters.erase(id);
}

/// By a server's clock as fast as it is now.
Nanos Judge::lease_end(const Server& server, const std::string& ttl_ms) const {
  return world_.now() + std::stoll(ttl_ms) * (ms - server.drift_ppm);
}

void Judge::see_order(const Lock& lock, const std::string& id) {
  // There a ticket is a time of a client, and may be earlier than that of one who was woken: see
  // see_order_quorum().
  if (plan_.servers > 1) return;
  const auto own = lock.waiters.find(id);
  for (const auto& [other, waiter] : lock.waiters) {
    if (other == id || is_unwell(waiter)) continue;
    if (own == lock.waiters.end() || waiter.ticket < own->second.ticket) {
      throw Violation{fmt::format("client {} overtakes client {}", client_of(id), waiter.client)};
    }
  }
}

/// There is room for as long as anybody may need to notice, and somebody waits.
void Judge::see_idle_permit(const Lock& lock, const std::string& id) {
  // One that was stopped, and has its permit at last or leaves, kept it from those behind.
  const bool came_late =
      lock.unwell_left_at > world_.now() - by_itself ||
      std::any_of(lock.granted.begin(), lock.granted.end(), [&](const auto& each) {
        return each.second > world_.now() - by_itself && is_unwell(client_of(each.first));
      });
  const Nanos bound = has_unwell(lock) || came_late ? until_a_heartbeat() : by_itself;
  const auto own = lock.waiters.find(id);
  if (own == lock.waiters.end() || world_.now() - own->second.since <= bound) return;
  const auto busy = std::count_if(lock.leases.begin(), lock.leases.end(), [&](const auto& each) {
    return each.second > world_.now() - bound;
  });
  const auto permits = std::stoll(id.substr(std::string_view{"permits="}.size()));
  const bool is_first =
      std::all_of(lock.waiters.begin(), lock.waiters.end(), [&](const auto& each) {
        return each.second.ticket >= own->second.ticket || is_unwell(each.second);
      });
  if (busy < permits && is_first) {
    throw Violation{fmt::format("a permit was idle for more than {} ms before client {} had it",
                                bound / ms, client_of(id))};
  }
}

/// Nobody has it alone or waits for that before this reader, for as long as it may need to notice.
void Judge::see_idle_reader(const Lock& lock, const std::string& id) const {
  const auto own = lock.waiters.find(id);
  if (own == lock.waiters.end()) return;
  // One that was stopped and has gone on since may have been before us.
  const bool all_well = std::none_of(unwell_.begin(), unwell_.end(),
                                     [&](const auto& each) { return is_unwell(each.first); });
  for (const auto& [other, waiter] : lock.waiters) {
    if (other == token_of(other) && waiter.ticket < own->second.ticket) return;
  }
  // The second one looks whether the first comes.
  const bool looks = own->second.ahead < 2 && !is_unwell(own->second);
  const Nanos since = std::max(own->second.since, lock.readable_since);
  const Nanos idle = world_.now() - (all_well ? since : std::max(since, worse_since_));
  const Nanos bound = all_well ? by_itself : looks ? behind_the_dead : until_a_heartbeat();
  if (lock.taken && world_.now() < lock.ends && idle > bound) {
    throw Violation{fmt::format("reader {} waits for {} ms although only readers have it",
                                client_of(id), idle / ms)};
  }
}

bool Judge::has_unwell(const Lock& lock) const {
  return std::any_of(lock.waiters.begin(), lock.waiters.end(),
                     [&](const auto& each) { return is_unwell(each.second); });
}

/// At the end of a lease the waiters look that know to be among the first ten; at a release the
/// second and the last are told; and a newcomer looks.
std::optional<Nanos> Judge::looked_after_since(const Lock& lock, bool ended_by_itself,
                                               Nanos idle_since) const {
  const Waiter* last = nullptr;
  std::optional<Nanos> since;
  const auto looks = [&](const Waiter& waiter) {
    if (!is_unwell(waiter)) since = std::min(since.value_or(waiter.since), waiter.since);
  };
  for (const auto& [id, waiter] : lock.waiters) {
    if (waiter.since > idle_since || waiter.ahead < (ended_by_itself ? 10 : 2)) looks(waiter);
    if (waiter.since > idle_since) continue;
    if (last == nullptr || waiter.ticket > last->ticket) last = &waiter;
  }
  if (!ended_by_itself && last != nullptr) looks(*last);
  return since;
}

void Judge::see_idle(const Lock& lock, const std::string& id) {
  // One server of several may be left to a holder of the others, which does not look at it: see
  // see_idle_quorum().
  if (plan_.servers > 1) return;
  if (lock.taken && world_.now() < lock.ends) return;  // another one of several
  const Nanos idle_since = lock.taken ? lock.ends : lock.idle_since;
  const bool ended_by_itself = lock.taken || lock.ended_by_itself;
  Nanos wanted_since = world_.now();
  for (const auto& [other, waiter] : lock.waiters) {
    if (!is_unwell(waiter)) wanted_since = std::min(wanted_since, waiter.since);
  }
  Nanos idle = world_.now() - std::max(idle_since, wanted_since);
  Nanos bound = ended_by_itself ? by_itself : at_once;
  if (lock.was_foreign) bound = polls_foreign;
  if (has_unwell(lock)) {
    const auto looked_after = looked_after_since(lock, ended_by_itself, idle_since);
    bound = until_a_heartbeat();
    // A waiter that dies while the dead are passed over takes as long again.
    const Nanos since = std::max({looked_after.value_or(0), worse_since_, idle_since});
    if (looked_after && idle <= bound) {
      bound = behind_the_dead;
      idle = std::min(idle, world_.now() - since);
    }
  }
  if (idle > bound) {
    throw Violation{fmt::format("the lock was idle for {} ms before client {} had it (at most {})",
                                idle / ms, client_of(id), bound / ms)};
  }
}

void Judge::renewed(Server& server, const Words& words, Micros now) {
  Keyspace& keys = server.redis.keys(0, now);
  const std::string& token = words[first_argument];
  const auto is_in = [&](const std::string& key) {
    const Value* value = keys.find(key);
    if (value == nullptr) return false;
    if (const auto* text = std::get_if<std::string>(&value->content)) return *text == token;
    const auto* set = std::get_if<SortedSet>(&value->content);
    return set != nullptr && set->rank(token).has_value();
  };
  locks_[{server.number, words[3]}].leases[token] = lease_end(server, words[first_argument + 1]);
  if (!is_in(words[3]) && !is_in(words[7])) throw Violation{"a lease was refreshed that is none"};
}

bool Judge::left(Lock& lock, const Words& words) {
  const std::string id = named(words, "id");
  const std::string token = token_of(id);
  leaves_queue(lock, id);
  if (const auto lease = lock.leases.find(token); lease != lock.leases.end()) {
    lease->second = std::min(lease->second, world_.now());
  }
  lock.given_back.insert(token);
  return std::erase_if(lock.waiters,
                       [&](const auto& each) { return token_of(each.first) == token; }) == 0;
}

void Judge::leaves_queue(Lock& lock, const std::string& id) {
  const auto own = lock.waiters.find(id);
  if (own == lock.waiters.end()) return;
  if (id == token_of(id)) lock.readable_since = world_.now();
  const bool is_free = !lock.taken || lock.ends < world_.now();
  const Nanos since = std::max(lock.taken ? lock.ends : lock.idle_since, own->second.since);
  lock.idle_when_left[own->second.client] = is_free && !has_unwell(lock) ? world_.now() - since : 0;
  // A stopped waiter's reservation starts again for the next one.
  if (is_unwell(own->second)) lock.idle_since = lock.unwell_left_at = world_.now();
}

void Judge::look(Server& server, Lock& lock, const Words& words, Micros now) {
  Keyspace& keys = server.redis.keys(0, now);
  const std::string& key = words[3];
  Value* value = keys.find(key);
  const auto* text = value == nullptr ? nullptr : std::get_if<std::string>(&value->content);
  // A reservation is no grant.
  const bool taken = text != nullptr && (text->starts_with("rlock:") ||
                                         lock.fences.contains(*text) || client_of(*text) == 0);
  if (value != nullptr && !value->ends_ms && text != nullptr && client_of(*text) != 0) {
    throw Violation{"a lock of ours has no end"};
  }
  if (!taken && lock.taken) {
    lock.ended_by_itself = lock.ends <= world_.now();
    lock.idle_since = std::min(lock.ends, world_.now());
  }
  lock.taken = taken;
  const bool alone = taken && !text->starts_with("rlock:");
  if (taken) lock.was_foreign = alone && client_of(*text) == 0;
  const bool read = taken && !alone;
  if (!read || !std::exchange(lock.read, read)) lock.readable_since = world_.now();
  lock.read = read;
  lock.holders.clear();
  const auto in_world = [&](std::int64_t ends_ms) {
    return world_.now() + (ends_ms * 1000 - now) * 1000;
  };
  if (alone && value->ends_ms) lock.holders[*text] = in_world(*value->ends_ms);
  if (taken && !alone) {
    Value* const several = keys.find(words[7]);
    const auto* set = several == nullptr ? nullptr : std::get_if<SortedSet>(&several->content);
    static const SortedSet none;
    for (const auto& [ends, token] : (set == nullptr ? none : *set).entries()) {
      const Nanos until = in_world(static_cast<std::int64_t>(ends));
      if (until > world_.now()) lock.holders[token] = until;
    }
  }
  if (taken) {
    lock.ends = value->ends_ms ? world_.now() + (*value->ends_ms * 1000 - now) * 1000 + ms
                               : std::numeric_limits<Nanos>::max();
  }
}

/// The newest wins: the others have been told, and none waits before it.
void Judge::superseded(Server& server, const Lock& lock, const Words& words, const Reply& reply,
                       Micros now) {
  const bool first_try = named(words, "tried").empty();
  if (named(words, "supersede").empty() || !first_try || !plan_.is_calm()) return;
  if (reply.elements[0].text != "queued" && reply.elements[0].text != "busy") return;
  const std::string id = named(words, "id");
  for (const auto& [token, until] : lock.holders) {
    if (token != token_of(id) && client_of(token) != 0) {
      told_to_stop_.emplace(token, world_.now());
    }
  }
  const Value* queue = server.redis.keys(0, now).find(words[4]);
  const auto* set = queue == nullptr ? nullptr : std::get_if<SortedSet>(&queue->content);
  if (set != nullptr && !set->entries().empty() && set->entries().front().second != id) {
    throw Violation{fmt::format("client {} supersedes nobody who waits", client_of(id))};
  }
}

/// A released lock stays taken for exactly that long after its grant.
void Judge::see_min_hold(const Lock& lock, const Words& words, const Reply& reply) const {
  if (named(words, "how") != "release" || reply.integer != 1) return;
  const std::string token = token_of(named(words, "id"));
  const auto granted = lock.granted.find(token);
  if (granted == lock.granted.end() || plan_.has(Incident::Kind::step_clock)) return;
  const std::string told = named(words, "min_hold");
  const Nanos min_hold = told.empty() ? 0 : std::stoll(told) * ms;
  const Nanos meant = granted->second + min_hold;
  const Nanos about = at_once + min_hold / 100;  // clocks drift by less
  // A fence that is that of a later server, or of one whose clock is ahead, hides when the grant
  // was here: then it counts from now.
  const Nanos latest = plan_.servers == 1 ? meant : world_.now() + min_hold;
  const auto stays = lock.holders.find(token);
  const bool there = stays != lock.holders.end();
  if (there ? stays->second < meant - about || stays->second > latest + about
            : meant > world_.now() + about) {
    throw Violation{
        fmt::format("client {} gives it back {} ms after its grant, to be kept for {} "
                    "ms, and it is for {} ms",
                    client_of(token), (world_.now() - granted->second) / ms, min_hold / ms,
                    there ? (stays->second - granted->second) / ms : 0)};
  }
}

void Judge::foreign_gone(const std::string& key) {
  Lock& lock = locks_[{0, key}];
  if (!lock.was_foreign) return;
  lock.taken = false;
  lock.ended_by_itself = false;
  lock.idle_since = world_.now();
}

void Judge::forced(const Server& server, Lock& lock, const std::map<std::string, Nanos>& before,
                   const Words& words, const Reply& reply) {
  if (reply.elements.empty()) return;
  const std::set<std::string> shown{words.begin() + first_argument + 3, words.end()};
  const bool steady = !plan_.has(Incident::Kind::step_clock) && !plan_.has(Incident::Kind::drift);
  for (const auto& [token, until] : before) {
    const bool there = lock.holders.contains(token);
    if (shown.contains(token) && there) {
      throw Violation{fmt::format("client {} still has what was taken from it", client_of(token))};
    }
    if (!shown.contains(token) && !there && steady && until > world_.now() + at_once) {
      throw Violation{fmt::format("client {} loses it and was not shown", client_of(token))};
    }
  }
  if (reply.elements[0].text != "removed") return;
  for (const std::string& token : shown) {
    forced_.emplace(token, world_.now());
    // One server of several may lose it to the operator before it has granted it: it is waited for.
    if (plan_.servers > 1) forced_at_[token].insert(server.number);
    const auto held = before.find(token);
    if (held == before.end()) continue;
    forced_at_[token].insert(server.number);
    if (held->second > world_.now() + at_once) lock.ended.insert(token);
  }
  forced_last_ = world_.now();
  // The reservation starts again for the next one.
  lock.idle_since = world_.now();
}

void Judge::asked_to_stop(const Lock& lock, const Words& words, const Reply& reply) {
  const auto begin = words.begin() + first_argument + 2;
  const auto holding = std::count_if(
      begin, words.end(), [&](const std::string& each) { return lock.holders.contains(each); });
  if (reply.integer < holding && plan_.is_calm()) {
    throw Violation{fmt::format("{} hold it and {} were asked to stop", holding, reply.integer)};
  }
  answers_[words[first_argument + 1]].insert(words[first_argument]);
  const auto shown = words.end() - begin;
  const bool all = reply.integer == static_cast<std::int64_t>(shown);
  if (!all && plan_.servers == 1 && reply.integer < holding) return;  // which ones, it does not say
  std::for_each(begin, words.end(), [&](const std::string& each) {
    // One server of several does not have all that most of them may have.
    const bool there = lock.holders.contains(each) || lock.waiters.contains(each);
    if (all || there) told_to_stop_.emplace(each, world_.now());
  });
}

void Judge::data_lost(const Server& server) {
  leases_are_void();
  forget_slots(server);
  // A fence is the server's time, so it grows all the same; but for clocks that go back, or differ.
  const bool grows = plan_.servers == 1 && !plan_.has_clock_set_back();
  fences_forgotten_ = fences_forgotten_ || !grows;
  for (auto& [where, lock] : locks_) {
    if (where.first != server.number) continue;
    const auto last = lock.last_fence;
    lock = {};
    if (grows) lock.last_fence = last;
  }
}

}  // namespace sim
