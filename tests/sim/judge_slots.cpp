// Whether a slot is done once, and by whom: what the clients say of their runs, and what the
// servers hear.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "bounds.hpp"
#include "judge.hpp"
#include "scripts.hpp"

namespace sim {

namespace {

using End = store::Parting::SlotEnd;

/// Whether the server begins no run for the slot with the number of that one again.
bool knows_run(Server& server, const std::string& key, const store::Slot& slot, unsigned attempt,
               const std::string& token, Micros now) {
  const auto found =
      find<std::string>(server.redis.keys(0, now), "{" + key + "}:rlock:slot:" + slot.id);
  if (found.content == nullptr) return false;
  // The late end of an earlier run may have done the slot since the grant.
  if (found.content->starts_with("done\t")) return true;
  const auto tab = found.content->find('\t');
  unsigned number = 0;
  (void)std::from_chars(found.content->data() + tab + 1,
                        found.content->data() + found.content->size(), number);
  // Another claim that only this server granted also has that number: it can be withdrawn.
  const bool is_anothers =
      found.content->starts_with("running\t") && found.content->find(token) == std::string::npos;
  return is_anothers ? number > attempt : number >= attempt;
}

}  // namespace

/// Whether this run is the end of its slot. `surely`: of the failures before it, those count of
/// which any majority knows; else those count as well of which somebody may know.
bool Judge::is_done(const SlotRuns& runs, std::size_t number, unsigned retries, bool surely) const {
  const SlotRun& run = runs[number];
  if (run.end == End::done) return true;
  if (run.end != End::failed) return false;
  // Where the server lost its data, a later run may have ended before this one.
  const auto is_before = [&](const SlotRun& each) {
    return &each < &run || (!surely && each.end && each.ended < run.ended);
  };
  const auto failed = std::count_if(runs.begin(), runs.end(), [&](const SlotRun& each) {
    return is_before(each) && each.end == End::failed &&
           (surely ? any_majority_meets(each.heard_at) : each.was_heard);
  });
  return failed >= retries;
}

void Judge::begins_for_slot(const Job& job) {
  const std::string& key = job.keys.front();
  auto& runs = slots_[{key, job.slot->id}];
  for (std::size_t i = 0; i < runs.size(); ++i) {
    if (!is_done(runs, i, job.slot->retries, true) || !any_majority_meets(runs[i].heard_at))
      continue;
    throw Violation{fmt::format("client {} runs for the slot {}, which client {} has done",
                                job.client, job.slot->id, runs[i].client)};
  }
  const unsigned last = runs.empty() ? 0 : runs.back().attempt;
  const bool forgotten = !runs.empty() && !any_majority_meets(runs.back().known_at);
  if (job.attempt == 0 || (job.attempt <= last && !forgotten && !is_excused(job))) {
    throw Violation{fmt::format("client {} has run {} for the slot {} after run {}", job.client,
                                job.attempt, job.slot->id, last)};
  }
  // A grant that nobody heard of counts.
  if (plan_.nobody_dies() && job.attempt != last + 1) {
    throw Violation{fmt::format("client {} has run {} for the slot {}, which is number {}",
                                job.client, job.attempt, job.slot->id, last + 1)};
  }
  SlotRun run{job.client, job.tokens.front(), job.attempt, job.fences.front()};
  for (std::size_t i = 0; i < world_.servers(); ++i) {
    Server& server = world_.server(i);
    if (knows_run(server, key, *job.slot, job.attempt, run.token, world_.clock(server))) {
      run.known_at.insert(i);
    }
  }
  if (run.known_at.size() < plan_.servers / 2 + 1 && void_since_ < job.asked && !is_excused(job)) {
    throw Violation{fmt::format("only {} servers know of run {} for the slot {}",
                                run.known_at.size(), job.attempt, job.slot->id)};
  }
  runs.push_back(std::move(run));
}

void Judge::ended_for_slot(const Job& job, const store::RunOutcome& outcome, End end) {
  for (SlotRun& run : slots_[{job.keys.front(), job.slot->id}]) {
    if (run.token != job.tokens.front()) continue;
    run.end = end;
    run.outcome = outcome;
    run.ended = world_.now();
  }
}

void Judge::heard_end(const Server& server, const Words& words, const Reply& reply) {
  if (named(words, "how") != "release") return;
  for (auto& [where, runs] : slots_) {
    if (where.first != words[3]) continue;
    for (SlotRun& run : runs) {
      if (!run.end || run.token != named(words, "id")) continue;
      // One that comes after the end of its lease may tell of the end as well.
      run.was_heard = true;
      if (reply.integer != 1) continue;
      run.known_at.insert(server.number);
      const bool before = any_majority_meets(run.heard_at);
      run.heard_at.insert(server.number);
      if (!before && any_majority_meets(run.heard_at)) run.heard_since = world_.now();
    }
  }
}

void Judge::forget_slots(const Server& server) {
  std::erase_if(slots_there_, [&](const auto& each) { return each.first.first == server.number; });
  for (auto& [where, runs] : slots_) {
    for (SlotRun& run : runs) {
      run.known_at.erase(server.number);
      run.heard_at.erase(server.number);
    }
  }
}

/// Nothing of it is left where it was told so.
void Judge::entered_done(Server& server, Lock& lock, const Words& words, Micros now) {
  const std::string id = named(words, "id");
  Keyspace& keys = server.redis.keys(0, now);
  const auto queue = find<SortedSet>(keys, words[4]);
  const auto owner = find<std::string>(keys, words[3]);
  const bool queues = queue.content != nullptr && queue.content->rank(id).has_value();
  if (queues || (owner.content != nullptr && *owner.content == id)) {
    throw Violation{
        fmt::format("client {} is told that the slot is done, and stays", client_of(id))};
  }
  leaves_queue(lock, id);
  lock.waiters.erase(id);
}

void Judge::found_done(int client, const std::string& key, const store::Slot& slot,
                       const store::SlotDone& done) {
  say(client, fmt::format("finds the slot {} done by run {}", slot.id, done.attempt));
  const auto& runs = slots_[{key, slot.id}];
  const auto run = std::find_if(runs.begin(), runs.end(),
                                [&](const SlotRun& each) { return each.token == done.by.text(); });
  const auto number = static_cast<std::size_t>(run - runs.begin());
  if (run == runs.end() || !run->was_heard || !is_done(runs, number, slot.retries, false)) {
    throw Violation{
        fmt::format("client {} takes the slot {} for done, which it is not", client, slot.id)};
  }
  const bool same_fence = plan_.servers > 1 || run->fence == done.fence;
  if (done.outcome != run->outcome || done.attempt != run->attempt || !same_fence) {
    throw Violation{fmt::format("client {} hears of another end of the slot {} than there was",
                                client, slot.id)};
  }
  const Nanos since = std::max(wanted_.at(client), run->heard_since);
  const Nanos bound = plan_.servers == 1 ? told_of_done : between_bids;
  const bool all_well = plan_.servers == 1 ? !is_unwell(client) : plan_.nobody_dies();
  if (run->heard_since > 0 && plan_.is_calm() && all_well && world_.now() - since > bound) {
    throw Violation{fmt::format("client {} hears after {} ms that the slot {} is done", client,
                                (world_.now() - since) / ms, slot.id)};
  }
}

}  // namespace sim
