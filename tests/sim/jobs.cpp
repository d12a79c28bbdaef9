#include <fmt/format.h>
#include <sys/eventfd.h>

#include <algorithm>
#include <csignal>

#include "base/result.hpp"
#include "bounds.hpp"
#include "run.hpp"

namespace sim {

using base::Deadline;
using base::Millis;

namespace {

const store::RunEnd exited_well{{store::RunOutcome::Kind::exited, 0}};

}  // namespace

std::shared_ptr<RunningJob> Run::start_job(Client& client, const Wish& wish,
                                           const hold::HeldLocks& held) {
  const auto grace = std::min(Millis{5'000}, wish.ttl / 6);
  auto job = std::make_shared<RunningJob>();
  job->client = client.plan->number;
  job->keys = wish.keys;
  job->mode = wish.mode;
  job->began = job->asked = world_.now();
  for (const auto& lease : held.leases()) {
    job->asked = std::min(job->asked, world_.now() - (base::now() - lease.asked_at).count());
  }
  job->dying = std::min(nanos(wish.dying), nanos(grace));
  job->valid_until = held.valid_until().moment();
  for (const auto& lease : held.leases()) {
    job->tokens.push_back(lease.token.text());
    job->fences.push_back(lease.fence);
    job->permits.push_back(lease.permit);
  }
  job->slot = wish.slot;
  job->attempt = held.leases().front().attempt;
  job->failures = held.leases().front().failures;
  job->code = wish.code;
  job->in_steps = wish.in_steps;
  job->over = os::Fd{::eventfd(0, EFD_NONBLOCK)};
  job->needs_to_die = nanos(wish.dying);
  client.job = job;  // the judge looks at it as long as others live, also when it throws here
  judge_.say(job->client, fmt::format("has it, fence {}", fmt::join(job->fences, ", ")));
  judge_.begins(*job);
  judge_.believes(*job, held.valid_until().moment());
  return job;
}

void Run::work(Client& client, const Wish& wish, hold::HeldLocks held, os::Signals& signals) {
  const auto grace = std::min(Millis{5'000}, wish.ttl / 6);
  auto job = start_job(client, wish, held);
  world_.scheduler().at(world_.now() + nanos(wish.work), [this, job] { end_job(job, 0); });

  auto believed = held.valid_until();
  if (sabotage_.late_policy) believed = Deadline::at(believed.moment() + std::chrono::seconds{1});
  const auto latest =
      wish.max_hold ? Deadline::after(base::now(), *wish.max_hold) : Deadline::never();
  hold::JobPolicy policy{
      {"'lock'", believed, grace, hold::OnLost::stop, false, latest, "--max-hold is over"}};
  hold::Renewer renewer{std::move(held)};
  if (sabotage_.releases_before) {
    give_back(client, renewer, parting_of(*job, wish, exited_well, false), false);
    os::wait_any({job->over.number()}, Deadline::never());
  }
  if (!sabotage_.releases_before) supervise(client, renewer, policy, signals, job);
  const auto heard = std::max(client.terminated_at, job->began) + job->needs_to_die + 50 * ms;
  if (client.terminated_at >= 0 && job->ended > heard && !judge_.is_unwell(job->client)) {
    throw Violation{fmt::format("the job of client {} does not end of TERM", job->client)};
  }
  const auto& stopped = policy.stopped_for();
  judge_.say(job->client, stopped ? "its job was stopped: " + stopped->why : "its job has ended");
  const bool lost = stopped && stopped->reason == hold::StoppedFor::Reason::loss;
  const bool timed_out = stopped && stopped->reason == hold::StoppedFor::Reason::time;
  const bool asked = stopped && !lost && !timed_out;
  if (timed_out && !wish.max_hold) {
    throw Violation{"a job without --max-hold is stopped for it"};
  }
  if (wish.max_hold && !judge_.is_unwell(job->client) &&
      job->ended > job->began + nanos(*wish.max_hold) + at_once) {
    throw Violation{fmt::format("the job of client {} runs for longer than it may", job->client)};
  }
  if (asked && !plan_.stops_holders()) {
    throw Violation{"nobody asked anybody to stop here"};
  }
  if (asked) judge_.dismissed(job->client, stopped->why);
  const bool taken_away = judge_.was_forced(*job) || judge_.is_unwell(job->client);
  // A shared or numbered lease can be refreshed where no memory is left, as any other.
  const bool innocent =
      std::all_of(plan_.incidents.begin(), plan_.incidents.end(),
                  [](const Incident& each) { return each.kind == Incident::Kind::out_of_memory; });
  if (lost && !taken_away && (plan_.is_calm() || (innocent && plan_.servers == 1))) {
    throw Violation{"a lock was lost where nothing is wrong: " + stopped->why};
  }
  if (!sabotage_.releases_before) {
    const os::ExitStatus status{job->by_signal ? SIGKILL : job->code << 8};
    auto parting = parting_of(*job, wish, hold::run_end(status, stopped), policy.was_told_to_end());
    if (stopped) parting.min_hold = Millis{0};
    give_back(client, renewer, parting, lost);
  }
  if (!stopped && !sabotage_.releases_before) judge_.kept(*job, nanos(wish.min_hold));
  job->over = os::Fd{};
  client.job.reset();
}

// As hold/supervise.cpp does, whose processes are the kernel's.
void Run::supervise(Client& client, hold::Renewer& renewer, hold::JobPolicy& policy,
                    os::Signals& signals, const std::shared_ptr<RunningJob>& job) {
  os::Timer timer;
  bool told = false;
  const auto look_at_clock = [&] {
    if (renewer.begin_at().passed(base::now())) renewer.begin();
    obey(client, policy.on_time(base::now()), job);
  };
  for (;;) {
    timer.set(std::min(policy.due(), renewer.begin_at()));
    if (!sabotage_.no_guardian) guard(job, policy.last_moment());
    os::wait_any(
        {signals.descriptor(), job->over.number(), renewer.descriptor(), timer.descriptor()},
        Deadline::never());
    look_at_clock();
    while (const auto signal = signals.take()) {
      obey(client, policy.on_signal(*signal, hold::JobPolicy::JobHeard::no, base::now()), job);
    }
    if (!job->alive && !std::exchange(told, true)) {
      const os::ExitStatus status{job->by_signal ? SIGKILL : job->code << 8};
      obey(client, policy.on_job_ended(status, base::now()), job);
    }
    while (const auto news = renewer.take()) {
      if (const auto* extended = std::get_if<hold::Extended>(&*news)) {
        // The end of a lost run does not count.
        if (!extended->valid_until.is_never()) {
          job->valid_until = extended->valid_until.moment();
          judge_.believes(*job, job->valid_until);
        }
      }
      if (const auto* gone = std::get_if<hold::Lost>(&*news)) judge_.lost(*job, gone->name.text());
      if (std::holds_alternative<hold::AskedToStop>(*news) && sabotage_.deaf_policy) continue;
      obey(client, policy.on_news(*news, base::now()), job);
    }
    look_at_clock();
    if (policy.is_done() || (policy.awaits_tree() && !job->alive)) return;
  }
}

/// Its guardian kills it then, unless it is told of a later moment.
void Run::guard(const std::shared_ptr<RunningJob>& job, Deadline last) {
  if (last.is_never()) return;
  const auto order = ++job->orders;
  const auto in = (last.moment() - base::now()).count();
  world_.scheduler().at(world_.now() + in, [this, job, order] {
    if (job->orders == order && !sabotage_.nobody_kills) end_job(job, SIGKILL);
  });
}

void Run::obey(Client& client, const hold::Actions& actions,
               const std::shared_ptr<RunningJob>& job) {
  for (const hold::Action& action : actions) {
    base::match(
        action, [&](const hold::ToJob& to) { signal_job(job, to.signal); },
        [&](const hold::ToTree& to) { signal_job(job, to.signal); }, [](const hold::ToOthers&) {},
        [](const hold::ResumeTree&) {}, [](const hold::Follow&) {},
        [&](const hold::Say& say) { judge_.say(client.plan->number, say.text); });
  }
}

void Run::signal_job(const std::shared_ptr<RunningJob>& job, int number) {
  if (!job->alive) return;
  if (number == SIGKILL) {
    if (!sabotage_.nobody_kills) end_job(job, SIGKILL);
  } else if (number == SIGTERM || number == SIGINT) {
    const Nanos dies = world_.now() + job->needs_to_die;
    world_.scheduler().at(dies, [this, job] { end_job(job, SIGTERM); });
  }
}

void Run::end_job(const std::shared_ptr<RunningJob>& job, int status) {
  if (!job->alive || job->over.number() < 0) return;
  job->by_signal = status != 0;
  job->ended = world_.now();
  judge_.say(job->client, status == SIGKILL ? "its job is killed" : "its job ends");
  judge_.ends(*job);
  (void)::eventfd_write(job->over.number(), 1);
}

// As cmd/run.cpp does.
store::Parting Run::parting_of(const Job& job, const Wish& wish, const store::RunEnd& end,
                               bool told_to_end) {
  store::Parting parting{wish.min_hold, plan_.history, end};
  if (job.slot) {
    const auto for_slot = hold::slot_end(end, told_to_end);
    parting.slot = {*job.slot, job.attempt, job.failures, for_slot};
    judge_.ended_for_slot(job, end.outcome, for_slot);
  }
  return parting;
}

void Run::give_back(Client& client, hold::Renewer& renewer, const store::Parting& parting,
                    bool lost) {
  const os::CallLimit limit{Deadline::after(base::now(), hold::Held::longest_last_word)};
  auto stopped = renewer.stop(limit.until);
  auto* all = std::get_if<std::vector<hold::ReturnedLock>>(&stopped);
  if (all == nullptr) throw Violation{"the renewing thread does not end"};
  for (hold::ReturnedLock& each : *all) {
    if (each.lost) {
      each.held.give_up();
    } else {
      const auto release = each.held.release(limit, parting);
      const auto* not_ours = std::get_if<store::NotOurs>(&release);
      if (not_ours != nullptr) judge_.say(client.plan->number, "had lost it: " + not_ours->why);
      const bool fine = std::holds_alternative<store::Released>(release);
      const auto* fault = std::get_if<store::Fault>(&release);
      const bool early = limit.until.left(base::now()) > Millis{100};
      if (fault != nullptr && early && fault->kind != store::Fault::Kind::denied) {
        throw Violation{"a release is not tried again: " + fault->why};
      }
      const bool unwell = judge_.is_unwell(client.plan->number) || lost;
      if (!fine && !unwell && plan_.is_calm() && !plan_.has(Incident::Kind::force_release)) {
        throw Violation{"a release fails where nothing is wrong"};
      }
    }
    if (each.notice) each.held.confirm_stopped(*each.notice, limit);
  }
}

}  // namespace sim
