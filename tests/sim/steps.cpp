#include <fmt/format.h>

#include <algorithm>

#include "base/result.hpp"
#include "run.hpp"

namespace sim {

using base::Deadline;
using base::Millis;

// As `rlock acquire`, `refresh`, `check` and `release` do, each a process of its own, in a script
// whose steps run under timeout(1): nobody watches over it, so it ends with its lease.
void Run::work_in_steps(Client& client, const Wish& wish, hold::HeldLocks held) {
  const auto job = start_job(client, wish, held);
  auto leases = held.leases();
  for (auto& returned : std::move(held).give_back()) returned.held.give_up();
  guard(job, Deadline::at(job->valid_until));

  const Nanos piece = std::max<Nanos>(nanos(wish.refreshed_ttl.value_or(wish.ttl)) / 4, ms);
  for (Nanos left = nanos(wish.work); left > 0 && job->alive; left -= piece) {
    world_.wait(world_.now() + std::min(piece, left), [&] { return !job->alive; });
    if (job->alive && left > piece && !step(client, wish, leases)) break;
  }
  end_job(job, 0);

  for (const auto& lease : leases) {
    const os::CallLimit limit{Deadline::after(base::now(), hold::Held::longest_last_word)};
    const auto over = lease.valid_until.passed(base::now());
    const auto release = open_store()->release(
        lease.name, lease.token,
        {{}, plan_.history, store::RunEnd{{store::RunOutcome::Kind::released}}}, limit);
    const bool fine = std::holds_alternative<store::Released>(release);
    if (!fine && !over && !judge_.is_unwell(job->client) && plan_.is_calm()) {
      throw Violation{"a release by token fails where nothing is wrong"};
    }
  }
  job->over = os::Fd{};
  client.job.reset();
}

/// Whether the script may go on. Without an answer the hold ends with the lease at the latest.
bool Run::step(Client& client, const Wish& wish, std::vector<store::Lease>& leases) {
  const auto& job = client.job;
  const auto number = client.plan->number;
  const auto store = open_store();
  const bool only_looks = world_.random().chance(30);
  bool ours = true;
  bool answered = true;
  auto seen = Deadline::never();
  const auto ttl = *store::Ttl::from(wish.refreshed_ttl.value_or(wish.ttl));
  // A client that asks for a shorter lease has that from the request on, whenever the answer comes.
  if (!only_looks) {
    job->valid_until = std::min(job->valid_until, store::validity(base::now(), ttl).moment());
    guard(job, Deadline::at(job->valid_until));
  }
  for (auto& lease : leases) {
    const os::CallLimit limit{Deadline::after(base::now(), Millis{5'000})};
    const auto gone = [&] {
      judge_.say(number, "a step finds that the lock is gone");
      ours = false;
      const bool over = lease.valid_until.passed(base::now());
      if (!over && !judge_.is_unwell(number) && plan_.is_calm()) {
        throw Violation{"a step finds no lock where nothing is wrong"};
      }
    };
    if (only_looks) {
      const auto standing = store->check(lease.name, lease.token, limit);
      if (const auto* still = std::get_if<store::StillOurs>(&standing)) {
        seen = std::min(seen, still->until);
      }
      if (std::holds_alternative<store::Elsewhere>(standing)) gone();
      if (std::holds_alternative<store::Fault>(standing)) answered = false;
      continue;
    }
    const auto asked_at = base::now();
    const auto renewal = store->renew(lease.name, lease.token, ttl, limit);
    if (const auto* renewed = std::get_if<store::Renewed>(&renewal)) {
      lease.valid_until = renewed->valid_until;
    }
    // It may have been heard, and be a shorter one.
    if (std::holds_alternative<store::Fault>(renewal)) {
      lease.valid_until = std::min(lease.valid_until, store::validity(asked_at, ttl));
    }
    if (std::holds_alternative<store::NotOurs>(renewal)) gone();
  }
  if (!job->alive) return false;
  // A slow server may report more time left than the judge computed from the grant.
  const bool steady = !plan_.has(Incident::Kind::drift);
  if (steady && answered && !seen.is_never()) judge_.believes(*job, seen.moment());
  Deadline last = Deadline::never();
  for (const auto& lease : leases) last = std::min(last, lease.valid_until);
  job->valid_until = last.moment();
  judge_.believes(*job, job->valid_until);
  guard(job, last);
  return ours;
}

}  // namespace sim
