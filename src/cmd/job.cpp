#include "cmd/job.hpp"

#include "base/duration.hpp"
#include "base/log.hpp"
#include "base/result.hpp"
#include "base/text.hpp"
#include "hold/environment.hpp"
#include "hold/keeper.hpp"
#include "hold/supervise.hpp"
#include "os/error.hpp"
#include "os/stdio.hpp"

namespace cmd {
namespace {

using base::Deadline;
using Stage = os::NotStarted::Stage;
using Reason = hold::StoppedFor::Reason;

int report_not_started(const RunPlan& plan, const os::NotStarted& failure, RunRecord& record) {
  if (failure.stage == Stage::interrupted) {
    note(record, hold::Interrupted{failure.error});
    return os::ExitStatus::signal_code(failure.error);
  }
  if (failure.stage == Stage::late) {
    record.outcome = RunRecord::Outcome::lost;
    record.lost_why = "the lease was over before the command was loaded";
    base::log::error("lost the lock {}: {}", plan.lock.shown_keys(), *record.lost_why);
    return ExitCode::lost;
  }
  record.outcome = RunRecord::Outcome::not_started;
  record.why = os::describe(failure.error);
  base::log::error("cannot run '{}': {}", shown(plan.command.front()), os::describe(failure.error));
  if (failure.stage == Stage::fork) return ExitCode::system_refused;
  return failure.error == ENOENT ? ExitCode::command_not_found : ExitCode::not_executable;
}

void release(hold::Held& held, base::Millis min_hold, bool loss_is_known,
             const os::CallLimit& limit) {
  const std::string key = base::printable(held.lease().name.text());
  const auto release = held.release(limit, min_hold);
  if (const auto* not_ours = std::get_if<store::NotOurs>(&release)) {
    if (!loss_is_known) {
      base::log::error("the job has ended, but the lock '{}' was lost before: {}", key,
                       not_ours->why);
    }
  } else if (const auto* fault = std::get_if<store::Fault>(&release)) {
    base::log::error("could not release the lock '{}' ({}); it ends by itself within {}", key,
                     fault->why, base::format_duration(held.lease().ttl.length()));
  }
}

/// The job is over; whatever goes wrong from here on is said and does not change the exit code.
void give_back(const RunPlan& plan, hold::Renewer& keeper, base::Millis min_hold,
               bool loss_is_known) {
  const os::CallLimit limit{Deadline::after(base::now(), hold::Held::longest_last_word)};
  auto handback = keeper.stop(limit.until);
  auto* all = std::get_if<std::vector<hold::ReturnedLock>>(&handback);
  if (all == nullptr) {
    base::log::error("the refresh of the lock {} hangs; it ends by itself within {}",
                     plan.lock.shown_keys(), base::format_duration(plan.lock.ttl.length()));
    return;
  }
  for (hold::ReturnedLock& kept : *all) {
    try {
      if (kept.lost) {
        kept.held.give_up();
      } else {
        release(kept.held, min_hold, loss_is_known, limit);
      }
      if (kept.notice) kept.held.confirm_stopped(*kept.notice, limit);
    } catch (const std::system_error& error) {
      base::log::error("could not release a lock ({}); it ends by itself within {}", error.what(),
                       base::format_duration(plan.lock.ttl.length()));
    }
  }
}

/// What a run exits with, and what its record says.
int conclude(const hold::Ending& ending, RunRecord& record) {
  record.job = ending.status;
  record.outcome = RunRecord::Outcome::ran;
  if (!ending.stopped_for) return ending.status.code();
  const bool lost = ending.stopped_for->reason == Reason::loss;
  record.outcome = lost ? RunRecord::Outcome::lost : RunRecord::Outcome::stopped;
  record.lost_why = ending.stopped_for->why;
  return ExitCode::lost;
}

}  // namespace

int run_job(const RunPlan& plan, hold::HeldLocks locks, os::Signals& signals, RunRecord& record) {
  const base::log::NonBlockingStderr no_wait{
      os::write_stderr_at_once};  // a lease does not wait for a reader
  record.granted = base::now();
  for (const auto& lease : record.leases) {
    base::log::detail("holding '{}' with fence {}", base::printable(lease.name.text()),
                      lease.fence);
  }
  const auto& server = plan.lock.server;
  const auto environment = hold::job_environment(record.leases, server.shown, server.exported);
  const auto valid_until = locks.valid_until();
  const os::Program program{plan.command, environment};
  // All that can fail before the job exists is done before; the keeper has no thread yet.
  hold::Renewer keeper{std::move(locks)};
  const os::ProcessTree tree;
  hold::JobPolicy policy{
      {plan.lock.shown_keys(), valid_until, plan.grace, plan.on_lost, plan.wait_all}};
  auto started = os::Guardian::start_job(program, signals, policy.last_moment());
  if (!started) {
    give_back(plan, keeper, {}, started.error().stage == Stage::late);
    return report_not_started(plan, started.error(), record);
  }
  // The point of no return: what fails from here on must not take the job's exit code away.
  const hold::Ending ending = hold::supervise(*started, tree, keeper, std::move(policy), signals);
  record.ended = base::now();
  const int code = conclude(ending, record);
  // Whoever had the job stopped wants the lock.
  const bool stopped = ending.stopped_for.has_value();
  give_back(plan, keeper, stopped ? base::Millis{0} : plan.min_hold, stopped);
  return code;
}

}  // namespace cmd
