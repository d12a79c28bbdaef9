// The judge's view of the clients: their jobs, their beliefs, the reasons of their ends.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "bounds.hpp"
#include "judge.hpp"
#include "scripts.hpp"

namespace sim {
namespace {

bool go_together(const Job& one, const Job& other) {
  using Kind = store::Mode::Kind;
  if (one.client == 0 || other.client == 0) return false;
  return one.mode == other.mode && one.mode.kind != Kind::exclusive;
}

/// Which permit of the key it has.
unsigned permit_of(const Job& job, const std::string& key) {
  const auto at = std::find(job.keys.begin(), job.keys.end(), key) - job.keys.begin();
  const auto place = static_cast<std::size_t>(at);
  return place < job.permits.size() ? job.permits[place] : 0;
}

bool have_one_number(const Job& a, const Job& b, const std::string& key) {
  const auto number = permit_of(a, key);
  return number > 0 && number == permit_of(b, key);
}

}  // namespace

/// The documentation names it: a server that forgets, or whose clock goes ahead; force-release.
bool Judge::is_excused(const Job& job) const {
  if (void_since_ >= job.asked) return true;
  return was_forced(job);
}

bool Judge::was_forced(const Job& job) const {
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
      if (have_one_number(job, *other, key)) {
        throw Violation{fmt::format("clients {} and {} have the same permit of '{}'", job.client,
                                    other->client, key)};
      }
      if (go_together(job, *other)) continue;
      throw Violation{fmt::format("client {} begins beside client {} under '{}'", job.client,
                                  other->client, key)};
    }
    if (job.mode.kind == store::Mode::Kind::permits && with > job.mode.permits) {
      throw Violation{fmt::format("{} have one of {} permits", with, job.mode.permits)};
    }
    if (job.mode.kind == store::Mode::Kind::permits && job.client != 0) {
      const auto number = permit_of(job, key);
      if (number == 0 || number > job.mode.permits) {
        throw Violation{
            fmt::format("client {} has permit {} of {}", job.client, number, job.mode.permits)};
      }
    }
  }
  see_fences(job);
  see_idle_quorum(job);
  if (job.slot) begins_for_slot(job);
  const auto kept = kept_until_.find(job.keys.front());
  if (kept != kept_until_.end() && world_.now() < kept->second && plan_.is_still() &&
      job.mode.kind == store::Mode::Kind::exclusive) {
    throw Violation{fmt::format("client {} has it {} ms too early", job.client,
                                (kept->second - world_.now()) / ms)};
  }
  for (const std::string& token : job.tokens) {
    const auto told = told_to_stop_.find(token);
    if (told == told_to_stop_.end() || is_unwell(job.client)) continue;
    if (!plan_.is_calm_from(told->second)) continue;
    if (world_.now() - told->second > at_once) {
      throw Violation{fmt::format("client {} runs although it was cancelled {} ms ago", job.client,
                                  (world_.now() - told->second) / ms)};
    }
  }
  jobs_.push_back(&job);
}

/// A job's fence is above those of all jobs that it could not run beside. Readers that come at once
/// may have the same fence on a quorum.
void Judge::see_fences(const Job& job) {
  using Kind = store::Mode::Kind;
  if (job.client == 0 || job.mode.kind == Kind::permits) return;
  const bool reads = job.mode.kind == Kind::shared;
  for (std::size_t i = 0; i < job.keys.size(); ++i) {
    auto& alone = fences_[job.keys[i]];
    auto& reader = readers_fences_[job.keys[i]];
    const auto last = reads ? alone : std::max(alone, reader);
    if (job.fences[i] <= last && !fences_forgotten_ && !is_excused(job)) {
      throw Violation{fmt::format("a job with fence {} after one with {}", job.fences[i], last)};
    }
    auto& own = reads ? reader : alone;
    own = std::max(own, job.fences[i]);
  }
}

void Judge::believes(const Job& job, base::Moment valid_until) const {
  if (plan_.has(Incident::Kind::step_clock) || was_forced(job)) return;
  const Nanos until = world_.now() + (valid_until - base::now()).count();
  for (std::size_t i = 0; i < job.keys.size(); ++i) {
    // The end that most of the servers will keep.
    std::vector<Nanos> leases;
    bool known = true;
    for (std::size_t server = 0; server < plan_.servers; ++server) {
      const auto lock = locks_.find({server, job.keys[i]});
      const bool has_it = lock != locks_.end() && lock->second.leases.contains(job.tokens[i]);
      // Not what was given back, or forgotten, meanwhile.
      known = known && has_it && !lock->second.given_back.contains(job.tokens[i]);
      leases.push_back(has_it ? lock->second.leases.at(job.tokens[i]) : 0);
    }
    if (plan_.servers == 1 ? !known : void_since_ >= job.asked) continue;
    std::sort(leases.begin(), leases.end());
    const Nanos end = leases[leases.size() - (plan_.servers / 2 + 1)];
    if (until > end) {
      throw Violation{fmt::format("client {} takes its lease to last {} ms longer than it does",
                                  job.client, (until - end) / ms)};
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
  see_stopped(job, told_to_stop_);
  see_stopped(job, forced_);
}

/// A job that is told, or loses its lock, ends soon.
void Judge::see_stopped(const Job& job, const std::map<std::string, Nanos>& told) const {
  if (is_unwell(job.client) || job.in_steps) return;
  for (const std::string& token : job.tokens) {
    const auto found = told.find(token);
    if (found == told.end() || !plan_.is_calm_from(found->second)) continue;
    const Nanos heard = std::max(found->second + 20 * ms, job.began + listens_after);
    if (world_.now() > heard + job.dying) {
      throw Violation{fmt::format("the job of client {} went on for {} ms after it was to stop",
                                  job.client, (world_.now() - found->second) / ms)};
    }
  }
}

void Judge::kept(const Job& job, Nanos min_hold) {
  if (min_hold == 0 || job.mode.kind != store::Mode::Kind::exclusive) return;
  auto& until = kept_until_[job.keys.front()];
  // One server of several may have granted it a few rounds before the others did.
  const Nanos earlier = plan_.servers > 1 ? 100 * ms : at_once;
  until = std::max(until, job.began + min_hold - earlier);
}

void Judge::dismissed(int client, const std::string& why) {
  const auto by = why.find("by client ");
  int newer = 0;
  if (by != std::string::npos) {
    (void)std::from_chars(why.data() + by + 10, why.data() + why.size(), newer);
  }
  if (newer == 0) {
    const auto is_of_client = [&](const auto& each) { return client_of(each.first) == client; };
    if (std::any_of(told_to_stop_.begin(), told_to_stop_.end(), is_of_client)) return;
    throw Violation{fmt::format("client {} is stopped, and nobody asked for it", client)};
  }
  // Where a connection always comes about, a try that was not heard was lost on its way. Elsewhere
  // it may arrive when the run that sent it is over, and hit the next holder.
  const bool only_cuts =
      std::all_of(plan_.incidents.begin(), plan_.incidents.end(), [](const Incident& each) {
        return each.kind == Incident::Kind::crash ||
               (each.disturbance && each.disturbance->kind <= Disturbance::Kind::cut_answers);
      });
  if (newer == client && (only_cuts || runs_[client] == 1)) {
    throw Violation{fmt::format("client {} sends itself away", client)};
  }
  if (only_cuts && wanted_[client] > wanted_[newer] + at_once) {
    throw Violation{
        fmt::format("client {} is sent away by client {}, which is the older one", client, newer)};
  }
}

void Judge::gave_up_busy(const std::string& key, Nanos since) {
  if (!plan_.is_still() || plan_.servers > 1 || plan_.records) return;
  const Lock& lock = locks_[{0, key}];
  const bool free = !lock.taken && lock.idle_since < since && lock.waiters.empty();
  if (free) throw Violation{"somebody gave up a lock that nobody had"};
}

void Judge::gave_up_waiting(int client, const std::string& key) {
  if (plan_.servers > 1) return gave_up_idle_quorum(client, key);
  if (!plan_.is_calm() || is_unwell(client)) return;
  const auto& idle = locks_[{0, key}].idle_when_left;
  const auto found = idle.find(client);
  if (found != idle.end() && found->second > polls_foreign) {
    throw Violation{fmt::format("client {} gives up a lock that was free for {} ms", client,
                                found->second / ms)};
  }
}

void Judge::heard_no_last_word(const std::string& why) const {
  const auto awaited = answers_.find(why);
  if (awaited == answers_.end()) return;
  const auto sent = [&](const auto& where) { return last_words_.contains(where); };
  if (std::any_of(awaited->second.begin(), awaited->second.end(), sent)) {
    throw Violation{"a last word was sent and not heard"};
  }
}

void Judge::finish() {
  see_memory();
  const auto left_over = [&](bool also_fences) {
    for (std::size_t i = 0; i < world_.servers(); ++i) {
      Server& server = world_.server(i);
      for (const std::string& key : server.redis.keys(0, world_.clock(server)).names()) {
        const bool stays = key.ends_with(":fence") || key.ends_with(":runs") ||
                           key.find(":slot:") != std::string::npos ||
                           key.find(":mail:") != std::string::npos;
        if (stays && !also_fences) continue;
        throw Violation{fmt::format("server {} still has {}", i, key)};
      }
    }
  };
  const bool gone_at_once = plan_.is_still() && !plan_.any_wish([](const Wish& each) {
    return each.min_hold.count() > 0;
  });
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
