// The job of a run, from the grant of its locks to their release.
#include "base/duration.hpp"
#include "base/log.hpp"
#include "base/text.hpp"
#include "cmd/present.hpp"
#include "cmd/report.hpp"
#include "cmd/run.hpp"
#include "hold/environment.hpp"
#include "hold/renewer.hpp"
#include "hold/run_end.hpp"
#include "hold/supervise.hpp"
#include "os/error.hpp"
#include "os/exec.hpp"
#include "os/stdio.hpp"

namespace cmd {
namespace {

using base::Deadline;
using Stage = os::NotStarted::Stage;
using Reason = hold::StoppedFor::Reason;

/// The command's file exists, but the kernel did not find the interpreter that it names.
std::string why_no_interpreter(const std::string& missing) {
  auto why = fmt::format("its interpreter '{}' does not exist", shown_word(missing));
  if (missing.ends_with('\r')) {
    why += "; its first line ends with a carriage return: save it with Unix line ends";
  }
  return why;
}

/// `overran`: the reason, if its --max-hold was over and not its lease.
int report_not_started(const RunPlan& plan, const os::NotStarted& failure,
                       const std::optional<std::string>& overran, RunRecord& record) {
  if (failure.stage == Stage::interrupted) {
    note(record, hold::Interrupted{failure.number});
    return os::ExitStatus::signal_code(failure.number);
  }
  if (failure.stage == Stage::late && overran) {
    record.outcome = RunRecord::Outcome::stopped;
    record.lost_why = overran;
    base::log::error("{}; the command is not loaded yet", *overran);
    return ExitCode::lost;
  }
  if (failure.stage == Stage::late) {
    record.outcome = RunRecord::Outcome::lost;
    record.lost_why = "the lease ended before the command was loaded";
    base::log::error("lost the lock {}: {}", plan.lock.shown_keys(), *record.lost_why);
    return ExitCode::lost;
  }
  record.outcome = RunRecord::Outcome::not_started;
  const bool not_found = failure.stage == Stage::exec && failure.number == ENOENT;
  const auto missing = not_found ? os::missing_interpreter(plan.command.front()) : std::nullopt;
  record.why = missing ? why_no_interpreter(*missing) : os::describe(failure.number);
  base::log::error("cannot run '{}': {}", shown_word(plan.command.front()), *record.why);
  if (failure.stage == Stage::fork) return ExitCode::system_refused;
  return not_found && !missing ? ExitCode::command_not_found : ExitCode::not_executable;
}

std::int64_t ms_since(base::Moment then) {
  return std::chrono::duration_cast<base::Millis>(base::now() - then).count();
}

void say_released(const store::Lease& lease, const RunRecord& record, const store::RunEnd& end) {
  const auto held = ms_since(*record.granted);
  base::log::Event{"released"}
      .with("key", lease.name.text())
      .with("held_ms", held)
      .with("outcome", store::name_of(end.outcome.kind))
      .with("number", end.outcome.number)
      .detail("released '{}' after {}, {}", base::printable(lease.name.text()),
              base::format_duration(base::Millis{held}), shown_outcome(end.outcome));
}

void release_lock(hold::Held& held, const store::Parting& parting, RunRecord& record,
                  const os::CallLimit& limit) {
  const std::string key = base::printable(held.lease().name.text());
  const auto release = held.release(limit, parting);
  if (const auto* not_ours = std::get_if<store::NotOurs>(&release)) {
    if (!record.lost_why) {
      base::log::error("the job has ended, but it had lost the lock '{}' before: {}", key,
                       not_ours->why);
      record.lost_why = not_ours->why;
    }
  } else if (const auto* fault = std::get_if<store::Fault>(&release)) {
    const auto& lease = held.lease();
    base::log::error("could not release the lock '{}' ({}); it {}", key, fault->why,
                     lease.valid_until.is_never()
                         ? "ends with this process"
                         : "expires within " + base::format_duration(lease.ttl.length()));
  } else if (parting.end) {
    say_released(held.lease(), record, *parting.end);
  }
}

/// Releases the locks after the job. A failure is reported and does not change the exit code.
void give_back(const RunPlan& plan, hold::Renewer& renewer, const store::Parting& parting,
               RunRecord& record) {
  const os::CallLimit limit{Deadline::after(base::now(), hold::Held::longest_last_word)};
  auto stopped = renewer.stop(limit.until);
  auto* all = std::get_if<std::vector<hold::ReturnedLock>>(&stopped);
  if (all == nullptr) {
    base::log::error("the refresh of the lock {} hangs; it expires within {}",
                     plan.lock.shown_keys(), base::format_duration(plan.lock.ttl.length()));
    return;
  }
  std::size_t left = all->size();
  for (hold::ReturnedLock& returned : *all) {
    const auto share = hold::share_of(limit, left--);
    try {
      if (returned.lost) {
        returned.held.give_up();
        // Heard as the job ended.
        if (!record.lost_why) record.lost_why = "it was lost while the job ran on";
      } else {
        release_lock(returned.held, parting, record, share);
      }
      if (returned.notice) returned.held.confirm_stopped(*returned.notice, limit);
    } catch (const std::system_error& error) {
      base::log::error("could not release a lock ({}); it expires within {}", error.what(),
                       base::format_duration(plan.lock.ttl.length()));
    }
  }
}

// The end of the run, as the server records it.

store::RunEnd end_without_job(const os::NotStarted& failure,
                              const std::optional<std::string>& overran, int code) {
  using Kind = store::RunOutcome::Kind;
  if (failure.stage == Stage::late && overran) return {{Kind::not_started, code}, *overran};
  if (failure.stage == Stage::late) return {{Kind::lost}, "before the command was loaded"};
  if (failure.stage == Stage::interrupted)
    return {{Kind::not_started, code}, "a signal came before the command"};
  return {{Kind::not_started, code}, os::describe(failure.number)};
}

store::Parting parting_after(const RunPlan& plan, const RunRecord& record, store::RunEnd end,
                             bool told_to_end) {
  store::Parting parting{{}, plan.lock.history, std::move(end)};
  if (plan.lock.slot && !record.leases.empty()) {
    const auto& lease = record.leases.front();
    parting.slot = {*plan.lock.slot, lease.attempt, lease.failures,
                    hold::slot_end(*parting.end, told_to_end)};
  }
  return parting;
}

/// The exit code of a run; also completes its record.
int conclude(const hold::Ending& ending, RunRecord& record) {
  record.job = ending.status;
  record.outcome = RunRecord::Outcome::ran;
  record.lost_why = ending.warned_of;
  if (!ending.stopped_for) return ending.status.code();
  const bool lost = ending.stopped_for->reason == Reason::loss;
  record.outcome = lost ? RunRecord::Outcome::lost : RunRecord::Outcome::stopped;
  record.lost_why = ending.stopped_for->why;
  return ExitCode::lost;
}

}  // namespace

int run_job(const RunPlan& plan, hold::HeldLocks locks, os::Signals& signals, RunRecord& record) {
  // A lease does not wait for a reader.
  const base::log::NonBlockingStderr no_wait{os::write_stderr_at_once};
  record.granted = base::now();
  const auto line = locks.is_wait_in_log() ? GrantLine::notice : GrantLine::detail;
  for (const auto& lease : record.leases) {
    say_granted(lease, locks.empty() ? "runs under" : "got", record.began, line);
  }
  const auto& server = plan.lock.server;
  const auto environment = hold::job_environment(record.leases, server.to_tell(), plan.lock.slot);
  const auto valid_until = locks.valid_until();
  const bool locks_of_our_own = !locks.empty();
  const os::Program program{plan.command, environment};
  // Do all that can fail before the job exists; the renewer has no thread yet.
  hold::Renewer renewer{std::move(locks)};
  os::ProcessTree tree;
  os::Timer timer;
  os::Witness witness;
  hold::JobPolicy::Terms terms{plan.lock.shown_keys(), valid_until, plan.grace, plan.on_lost,
                               plan.wait_all};
  if (plan.max_hold) {
    // From before the question, as a lease is reckoned.
    const auto since = locks_of_our_own ? record.leases.back().asked_at : *record.granted;
    terms.latest_end = Deadline::after(since, *plan.max_hold);
    terms.why_then = fmt::format("its time under {} is over: --max-hold {}", terms.locks,
                                 base::format_duration(*plan.max_hold));
  }
  hold::JobPolicy policy{std::move(terms)};
  auto started = os::Guardian::start_job(program, signals, tree, policy.last_moment());
  if (!started) {
    const auto overran = policy.overran();
    const int code = report_not_started(plan, started.error(), overran, record);
    auto end = end_without_job(started.error(), overran, code);
    give_back(plan, renewer, parting_after(plan, record, std::move(end), false), record);
    return code;
  }
  // The point of no return: what fails from here on must not take the job's exit code away.
  const hold::Ending ending =
      hold::supervise(*started, witness, tree, renewer, std::move(policy), signals, timer);
  record.ended = base::now();
  const int code = conclude(ending, record);
  auto end = hold::run_end(ending.status, ending.stopped_for);
  // Of one that was killed in its last moment the job had ended by itself.
  if (started->was_killed() && (plan.wait_all || ending.status.signalled())) {
    record.why = "the guardian of the job was killed";
    if (!ending.stopped_for) {
      record.outcome = RunRecord::Outcome::failed;
      end = store::RunEnd{{store::RunOutcome::Kind::lost},
                          record.why.value_or("")};  // it did not end by itself
    }
  }
  // A job is stopped because somebody else wants the lock, unless its time was over.
  const bool stopped = ending.stopped_for && ending.stopped_for->reason != Reason::time;
  auto parting = parting_after(plan, record, std::move(end), ending.told_to_end);
  if (!stopped) parting.min_hold = plan.min_hold;
  give_back(plan, renewer, parting, record);
  return code;
}

}  // namespace cmd
