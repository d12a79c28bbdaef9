#include "judge.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "scripts.hpp"

namespace sim {
namespace {

using store::redis::Script;
namespace scripts = store::redis::scripts;

// A few ways there and back.
constexpr Nanos at_once = 10 * ms;
// Who waits for the end of something that nobody tells of waits in BLPOP, which ends 100 ms late.
constexpr Nanos by_itself = 250 * ms;
// However many died at the head of the queue, while one of those who look after the lock lives.
constexpr Nanos behind_the_dead = 3 * s;
// Where none of them does: the next sign of life of whoever lives, and reservations that nobody
// takes.
constexpr Nanos until_a_heartbeat = 15 * s;
// A holder that runs for a second begins to listen then.
constexpr Nanos listens_after = 1'300 * ms;
// Where a script's arguments begin, behind six keys and the mailbox.
constexpr std::size_t first_argument = 10;

const Script* script_of(const Words& words) {
  if (words.size() <= first_argument) return nullptr;
  const bool by_digest = words[0] == "EVALSHA";
  if (!by_digest && words[0] != "EVAL") return nullptr;
  for (const auto& [name, each] : all_scripts()) {
    if (words[1] == (by_digest ? each->sha1 : each->body)) return each;
  }
  return nullptr;
}

const std::string& name_of(const Script* script) {
  const auto& all = all_scripts();
  return std::find_if(all.begin(), all.end(),
                      [&](const auto& each) { return each.second == script; })
      ->first;
}

std::string token_of(const std::string& id) {
  const auto space = id.find(' ');
  return space == std::string::npos ? id : id.substr(space + 1);
}

/// user@host:CLIENT/label#...
int client_of(const std::string& id) {
  const auto colon = id.find(':');
  int client = 0;
  if (colon != std::string::npos) {
    (void)std::from_chars(id.data() + colon + 1, id.data() + id.size(), client);
  }
  return client;
}

bool go_together(const Job& one, const Job& other) {
  using Kind = store::Mode::Kind;
  if (one.client == 0 || other.client == 0) return false;
  return one.mode == other.mode && one.mode.kind != Kind::exclusive;
}

/// Long words cut, tokens as what is left of them.
std::string short_word(const std::string& word) {
  const auto hash = word.find('#');
  if (hash != std::string::npos) return fmt::format("<{}>", word.substr(0, hash + 5));
  return word.size() > 60 ? word.substr(0, 57) + "..." : word;
}

std::string shown_short(const Reply& reply) {
  if (reply.kind != Reply::Kind::array) return short_word(shown(reply));
  std::string out;
  for (const Reply& each : reply.elements) {
    out += (out.empty() ? "" : " ") +
           (each.kind == Reply::Kind::bulk ? short_word(each.text) : shown(each));
  }
  return out;
}

}  // namespace

// ---- the history
// ---------------------------------------------------------------------------------

void Judge::note(const std::string& text) {
  for (const char c : text) {
    fingerprint_ = (fingerprint_ ^ static_cast<unsigned char>(c)) * 1099511628211U;
  }
}

void Judge::say(int client, const std::string& what) {
  if (!tells_) {
    note(what);
    return;
  }
  const std::string who = client == 0 ? "" : fmt::format("client {}: ", client);
  const auto line =
      fmt::format("{:12.6f} s  {}{}\n", static_cast<double>(world_.now()) / 1e9, who, what);
  note(what);
  history_ += line;
}

void Judge::executed(Server& server, const Words& words, const Reply& reply, Micros now) {
  const Script* script = script_of(words);
  const bool known = script != nullptr && !(reply.is_error() && reply.text.starts_with("NOSCRIPT"));
  if (tells_ && known) {
    std::string arguments;
    for (std::size_t i = first_argument; i < words.size(); ++i) {
      arguments += ' ' + (words[i].empty() ? "''" : short_word(words[i]));
    }
    say(0, fmt::format("    server {}: {} {}{} -> {}", server.number, name_of(script), words[3],
                       arguments, shown_short(reply)));
  } else if (known) {
    note(words[first_argument]);
    for (const Reply& each : reply.elements) note(each.text);
  }
  if (!known || reply.is_error()) return;
  Lock& lock = locks_[{server.number, words[3]}];
  if (script == &scripts::enter) entered(server, lock, words, reply);
  if (script == &scripts::leave) left(lock, words);
  if (script == &scripts::raise && reply.integer == 1) {
    lock.last_fence =
        std::max(lock.last_fence, store::Fence{std::stoull(words[first_argument + 1])});
    lock.fences[words[first_argument]] = std::stoull(words[first_argument + 1]);
  }
  if (script == &scripts::renew && reply.integer == 1) renewed(server, words, now);
  if (script == &scripts::force_release) forced(words, reply);
  if (script == &scripts::ask_to_stop) asked_to_stop(words, reply);
  look(server, lock, words[3], now);
}

// ---- a server's side ---------------------------------------------------------------------------

void Judge::entered(Server& server, Lock& lock, const Words& words, const Reply& reply) {
  if (reply.elements.empty()) throw Violation{"enter answers " + shown(reply)};
  const std::string& id = words[first_argument];
  const std::string& outcome = reply.elements[0].text;
  if (!words[first_argument + 6].empty()) {
    // Those in the queue may be sent away: who is still there asks again.
    std::erase_if(lock.waiters, [&](const auto& each) { return each.first != id; });
  }
  if (outcome == "granted") granted(server, lock, words, reply);
  if (outcome == "queued" && reply.elements[1].text == token_of(id) &&
      reply.elements[4].text == "holder") {
    throw Violation{fmt::format("client {} waits for itself", client_of(id))};
  }
  if (outcome == "queued") {
    const std::string& most = words[first_argument + 5];
    const bool fresh = words[first_argument + 4].empty() && !lock.waiters.contains(id);
    if (fresh && !most.empty() && words[first_argument + 7] == "0" && plan_.is_still() &&
        reply.elements[6].integer >= std::stoll(most)) {
      throw Violation{fmt::format("client {} queues behind {} although {} are too many",
                                  client_of(id), reply.elements[6].integer, most)};
    }
    const double ticket = std::stod(reply.elements[7].text);
    const auto ahead = reply.elements[6].integer;
    Waiter& waiter =
        lock.waiters.emplace(id, Waiter{client_of(id), world_.now(), ticket, ahead}).first->second;
    if (lock.taken && world_.now() < lock.ends) waiter.ahead = ahead;
  }
}

void Judge::granted(Server& server, Lock& lock, const Words& words, const Reply& reply) {
  ++grants_;
  const std::string& id = words[first_argument];
  const std::string token = token_of(id);
  const store::Fence fence = std::stoull(reply.elements[1].text);
  const auto before = lock.fences.find(token);
  const bool again = before != lock.fences.end() && before->second == fence;
  if (!again && fence <= lock.last_fence) {
    throw Violation{
        fmt::format("server {} gives fence {} after {}", server.number, fence, lock.last_fence)};
  }
  if (!again && plan_.is_calm()) {
    see_order(lock, id);
    if (id.starts_with("permits=")) see_idle_permit(lock, id);
    see_idle(lock, id);
  }
  lock.last_fence = std::max(lock.last_fence, fence);
  lock.fences[token] = fence;
  lock.leases[token] = world_.now() + std::stoll(words[first_argument + 1]) * ms;
  lock.waiters.erase(id);
}

void Judge::see_order(const Lock& lock, const std::string& id) {
  const auto own = lock.waiters.find(id);
  for (const auto& [other, waiter] : lock.waiters) {
    if (other == id || unwell_.contains(waiter.client)) continue;
    if (own == lock.waiters.end() || waiter.ticket < own->second.ticket) {
      throw Violation{fmt::format("client {} overtakes client {}", client_of(id), waiter.client)};
    }
  }
}

/// There is room for as long as anybody may need to notice, and somebody waits.
void Judge::see_idle_permit(const Lock& lock, const std::string& id) {
  const Nanos bound = unwell_.empty() ? by_itself : until_a_heartbeat;
  const auto own = lock.waiters.find(id);
  if (own == lock.waiters.end() || world_.now() - own->second.since <= bound) return;
  const auto busy = std::count_if(lock.leases.begin(), lock.leases.end(), [&](const auto& each) {
    return each.second > world_.now() - bound;
  });
  const auto permits = std::stoll(id.substr(std::string_view{"permits="}.size()));
  const bool is_first =
      std::all_of(lock.waiters.begin(), lock.waiters.end(), [&](const auto& each) {
        return each.second.ticket >= own->second.ticket || unwell_.contains(each.second.client);
      });
  if (busy < permits && is_first) {
    throw Violation{fmt::format("a permit was idle for more than {} ms before client {} had it",
                                bound / ms, client_of(id))};
  }
}

/// Whether one of those lives who look after a lock: at the end of a lease those who know to be
/// among the first ten; at a release the second one and the last are told.
bool Judge::somebody_looks(const Lock& lock, bool ended_by_itself) const {
  const Waiter* last = nullptr;
  for (const auto& [id, waiter] : lock.waiters) {
    const bool well = !unwell_.contains(waiter.client);
    if (well && waiter.ahead < (ended_by_itself ? 10 : 2)) return true;
    if (last == nullptr || waiter.ticket > last->ticket) last = &waiter;
  }
  return !ended_by_itself && last != nullptr && !unwell_.contains(last->client);
}

void Judge::see_idle(const Lock& lock, const std::string& id) {
  if (lock.taken && world_.now() < lock.ends) return;  // another one of several
  const Nanos idle_since = lock.taken ? lock.ends : lock.idle_since;
  const bool ended_by_itself = lock.taken || lock.ended_by_itself;
  Nanos wanted_since = world_.now();
  for (const auto& [other, waiter] : lock.waiters) {
    if (!unwell_.contains(waiter.client)) wanted_since = std::min(wanted_since, waiter.since);
  }
  const Nanos idle = world_.now() - std::max(idle_since, wanted_since);
  Nanos bound = ended_by_itself ? by_itself : at_once;
  if (!unwell_.empty()) bound = behind_the_dead;
  if (!unwell_.empty() && !somebody_looks(lock, ended_by_itself)) {
    bound = until_a_heartbeat;
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
  locks_[{server.number, words[3]}].leases[token] =
      world_.now() + std::stoll(words[first_argument + 1]) * ms;
  if (!is_in(words[3]) && !is_in(words[7])) throw Violation{"a lease was refreshed that is none"};
}

void Judge::left(Lock& lock, const Words& words) {
  const std::string& id = words[first_argument];
  lock.waiters.erase(id);
  if (const auto lease = lock.leases.find(token_of(id)); lease != lock.leases.end()) {
    lease->second = std::min(lease->second, world_.now());
  }
  std::erase_if(lock.waiters, [&](const auto& each) { return token_of(each.first) == id; });
}

void Judge::look(Server& server, Lock& lock, const std::string& key, Micros now) {
  Value* value = server.redis.keys(0, now).find(key);
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
  if (taken) {
    lock.ends = value->ends_ms ? world_.now() + (*value->ends_ms * 1000 - now) * 1000 + ms
                               : std::numeric_limits<Nanos>::max();
  }
}

void Judge::forced(const Words& words, const Reply& reply) {
  if (reply.elements.empty() || reply.elements[0].text != "removed") return;
  for (std::size_t i = first_argument + 3; i < words.size(); ++i) forced_.insert(words[i]);
}

void Judge::asked_to_stop(const Words& words, const Reply& reply) {
  const auto shown = words.size() - (first_argument + 2);
  if (reply.integer != static_cast<std::int64_t>(shown)) return;
  for (std::size_t i = first_argument + 2; i < words.size(); ++i) {
    told_to_stop_.emplace(words[i], world_.now());
  }
}

void Judge::data_lost(const Server& server) {
  leases_are_void();
  for (auto& [where, lock] : locks_) {
    if (where.first == server.number) lock = {};
  }
}

// ---- the clients' side --------------------------------------------------------------------------

/// The documentation names it: a server that forgets, or whose clock goes ahead; force-release.
bool Judge::is_excused(const Job& job) const {
  if (void_since_ >= job.asked) return true;
  return std::any_of(job.tokens.begin(), job.tokens.end(),
                     [&](const std::string& each) { return forced_.contains(each); });
}

void Judge::begins(Job& job) {
  for (const std::string& key : job.keys) {
    std::size_t with = 1;
    for (const Job* other : jobs_) {
      if (std::find(other->keys.begin(), other->keys.end(), key) == other->keys.end()) continue;
      if (is_excused(*other) || is_excused(job)) continue;
      ++with;
      if (go_together(job, *other)) continue;
      throw Violation{fmt::format("client {} begins beside client {} under '{}'", job.client,
                                  other->client, key)};
    }
    if (job.mode.kind == store::Mode::Kind::permits && with > job.mode.permits) {
      throw Violation{fmt::format("{} have one of {} permits", with, job.mode.permits)};
    }
  }
  if (job.client != 0 && job.mode.kind == store::Mode::Kind::exclusive) {
    auto& last = fences_[job.keys.front()];
    if (job.fence <= last && void_since_ < 0 && !is_excused(job)) {
      throw Violation{fmt::format("a job with fence {} after one with {}", job.fence, last)};
    }
    last = std::max(last, job.fence);
  }
  const auto kept = kept_until_.find(job.keys.front());
  if (kept != kept_until_.end() && world_.now() < kept->second && plan_.is_still() &&
      job.mode.kind == store::Mode::Kind::exclusive) {
    throw Violation{fmt::format("client {} has it {} ms too early", job.client,
                                (kept->second - world_.now()) / ms)};
  }
  for (const std::string& token : job.tokens) {
    const auto told = told_to_stop_.find(token);
    if (told == told_to_stop_.end() || is_unwell(job.client) || !plan_.is_calm()) continue;
    if (world_.now() - told->second > at_once) {
      throw Violation{fmt::format("client {} runs although it was cancelled {} ms ago", job.client,
                                  (world_.now() - told->second) / ms)};
    }
  }
  jobs_.push_back(&job);
}

void Judge::believes(const Job& job, base::Moment valid_until) const {
  if (plan_.servers > 1 || plan_.has(Incident::Kind::step_clock)) return;
  const Nanos until = world_.now() + (valid_until - base::now()).count();
  for (std::size_t i = 0; i < job.keys.size(); ++i) {
    const auto lock = locks_.find({0, job.keys[i]});
    if (lock == locks_.end()) continue;
    const auto lease = lock->second.leases.find(job.tokens[i]);
    // Not what was taken away meanwhile.
    if (lease == lock->second.leases.end() || lease->second <= world_.now()) continue;
    if (until > lease->second) {
      throw Violation{fmt::format("client {} takes its lease to last {} ms longer than it does",
                                  job.client, (until - lease->second) / ms)};
    }
  }
}

void Judge::ends(Job& job) {
  job.alive = false;
  std::erase(jobs_, &job);
  if (job.client == 0) return;
  if (base::now() > job.valid_until) {
    throw Violation{fmt::format("the job of client {} outlived its lease by {} ms", job.client,
                                (base::now() - job.valid_until).count() / ms)};
  }
  if (is_unwell(job.client) || !plan_.is_calm()) return;
  for (const std::string& token : job.tokens) {
    const auto told = told_to_stop_.find(token);
    if (told == told_to_stop_.end()) continue;
    const Nanos heard = std::max(told->second + 20 * ms, job.began + listens_after);
    if (world_.now() > heard + job.dying) {
      throw Violation{fmt::format("the job of client {} went on for {} ms after cancel", job.client,
                                  (world_.now() - told->second) / ms)};
    }
  }
}

void Judge::kept(const Job& job, Nanos min_hold) {
  if (min_hold == 0 || job.mode.kind != store::Mode::Kind::exclusive) return;
  auto& until = kept_until_[job.keys.front()];
  until = std::max(until, job.began + min_hold - at_once);
}

void Judge::dismissed(int client, const std::string& why) {
  const auto by = why.find("by client ");
  int newer = 0;
  if (by != std::string::npos) {
    (void)std::from_chars(why.data() + by + 10, why.data() + why.size(), newer);
  }
  if (newer == 0) return;  // an operator
  if (newer == client) throw Violation{fmt::format("client {} sends itself away", client)};
  // Where a connection always comes about, a try that was not heard was lost on its way.
  const bool only_cuts =
      std::all_of(plan_.incidents.begin(), plan_.incidents.end(), [](const Incident& each) {
        return each.kind == Incident::Kind::crash ||
               (each.disturbance && each.disturbance->kind <= Disturbance::Kind::cut_answers);
      });
  if (only_cuts && wanted_[client] > wanted_[newer] + at_once) {
    throw Violation{
        fmt::format("client {} is sent away by client {}, which is the older one", client, newer)};
  }
}

void Judge::gave_up_busy(const std::string& key, Nanos since) {
  if (!plan_.is_still() || plan_.servers > 1) return;
  const Lock& lock = locks_[{0, key}];
  const bool free = !lock.taken && lock.idle_since < since && lock.waiters.empty();
  if (free) throw Violation{"somebody gave up a lock that nobody had"};
}

void Judge::finish() {
  const auto left_over = [&](bool also_fences) {
    for (std::size_t i = 0; i < world_.servers(); ++i) {
      Server& server = world_.server(i);
      for (const std::string& key : server.redis.keys(0, world_.clock(server)).names()) {
        const bool stays = key.ends_with(":fence") || key.find(":mail:") != std::string::npos;
        if (stays && !also_fences) continue;
        throw Violation{fmt::format("server {} still has {}", i, key)};
      }
    }
  };
  const bool gone_at_once = plan_.is_still() && plan_.shape != "min-hold";
  if (gone_at_once) left_over(false);
  // Guardians, and foreign clients.
  world_.scheduler().pass(world_.now() + 30 * s);
  if (!jobs_.empty()) throw Violation{"a job is left"};
  // Two lives of a queue, and what is longer than any lease here.
  world_.scheduler().pass(world_.now() + 130 * s);
  left_over(false);
  world_.scheduler().pass(world_.now() + (24 * 3600 + 900) * s);
  left_over(true);
}

}  // namespace sim
