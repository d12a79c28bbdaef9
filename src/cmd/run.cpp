#include "cmd/run.hpp"

#include <cstdlib>

#include "base/duration.hpp"
#include "base/log.hpp"
#include "base/match.hpp"
#include "base/text.hpp"
#include "cmd/fault_report.hpp"
#include "cmd/run_options.hpp"
#include "hold/acquire.hpp"
#include "hold/environment.hpp"
#include "hold/supervise.hpp"
#include "hold/waiting_line.hpp"
#include "os/check.hpp"
#include "store/open.hpp"

namespace cmd {
namespace {

using base::Deadline;

std::string shown_key(const RunPlan& plan) {
  return base::printable(plan.key.text());
}

int report_busy(const RunPlan& plan, const hold::GaveUp& gave_up) {
  const std::string key = shown_key(plan);
  const std::string who = hold::describe(gave_up.occupant);
  if (plan.wait == base::Millis{0}) {
    base::log::notice("'{}' is {}; to queue for it: --wait 10m, to see more: rlock inspect {}", key,
                      who, base::printable(base::shell_word(plan.key.text())));
  } else {
    base::log::notice("'{}' was not free within {}: {}, {} waiting before this one", key,
                      base::format_duration(plan.wait), who, gave_up.others);
  }
  return plan.conflict_exit_code;
}

int report_not_started(const RunPlan& plan, const os::NotStarted& failure) {
  base::log::error("cannot run '{}': {}", base::printable(plan.command.front()),
                   os::describe(failure.error));
  if (failure.stage == os::NotStarted::Stage::fork) return ExitCode::system_refused;
  return failure.error == ENOENT ? ExitCode::command_not_found : ExitCode::not_executable;
}

/// The job is over; whatever goes wrong from here on is said and does not change the exit code.
void give_back(const RunPlan& plan, hold::Kept kept, bool loss_is_known) {
  const os::Patience patience{Deadline::after(base::now(), hold::Held::last_patience)};
  const std::string key = shown_key(plan);
  base::match(
      std::move(kept),
      [&](hold::StillHeld&& still) {
        const auto release = std::move(still.held).release(patience);
        if (const auto* not_ours = std::get_if<store::NotOurs>(&release)) {
          if (!loss_is_known) {
            base::log::error("the job has ended, but the lock '{}' was lost before: {}", key,
                             not_ours->why);
          }
        } else if (const auto* fault = std::get_if<store::Fault>(&release)) {
          base::log::error("could not release the lock '{}' ({}); it ends by itself within {}", key,
                           fault->why, base::format_duration(plan.ttl.length()));
        }
      },
      [&](hold::TakenAway&& taken) {
        if (taken.notice) {
          std::move(taken.spent).confirm_stopped(*taken.notice, patience);
        } else {
          std::move(taken.spent).give_up();
        }
      },
      [&](hold::Unreachable&&) {
        base::log::error("the refresh of the lock '{}' hangs; it ends by itself within {}", key,
                         base::format_duration(plan.ttl.length()));
      });
}

int run_job(const RunPlan& plan, hold::Held held, os::Signals& signals) {
  const store::Lease lease = held.lease();
  base::log::detail("holding '{}' with fence {}", shown_key(plan), lease.fence);
  const auto environment = hold::job_environment(lease, plan.server.exported);
  const auto stop_by = [] { return Deadline::after(base::now(), hold::Held::last_patience); };
  // All that can fail before the job exists is done before; the keeper has no thread yet.
  hold::Keeper keeper{std::move(held)};
  const os::ProcessTree tree;
  const auto spawned = os::Child::spawn(plan.command, environment, signals);
  if (const auto* failure = std::get_if<os::NotStarted>(&spawned)) {
    give_back(plan, keeper.stop(stop_by()), false);
    return report_not_started(plan, *failure);
  }
  // The point of no return: what fails from here on must not take the job's exit code away.
  const hold::Ending ending = hold::supervise(
      std::get<os::Child>(spawned), tree, keeper,
      hold::Steward{{plan.key.text(), lease.valid_until, plan.grace, plan.on_lost}}, signals);
  give_back(plan, keeper.stop(stop_by()), ending.stopped_for_loss);
  return ending.stopped_for_loss ? static_cast<int>(ExitCode::lost) : ending.status.code();
}

/// A job that wants the lock it runs under would wait for itself.
bool is_held_by_our_own_run(const RunPlan& plan) {
  const auto variable = [](const char* name) {
    const char* value = std::getenv(name);
    return std::string{value == nullptr ? "" : value};
  };
  return variable("RLOCK_HELD") == "1" && variable("RLOCK_KEY") == plan.key.text() &&
         variable("RLOCK_SERVER") == plan.server.exported.value_or("");
}

int execute(const RunPlan& plan) {
  if (is_held_by_our_own_run(plan)) {
    const char* token = std::getenv("RLOCK_TOKEN");
    base::log::error(
        "'{}' is held by {}, the run that this command is part of; it would wait for "
        "itself",
        shown_key(plan), store::Token::foreign(token == nullptr ? "" : token).shown());
    return plan.conflict_exit_code;
  }
  os::Signals signals;  // before any thread
  const auto on_busy = plan.wait == base::Millis{0} ? store::OnBusy::give_up : store::OnBusy::queue;
  auto acquisition = hold::acquire(
      store::open(plan.server.spec),
      {{plan.key, store::Token::mint(plan.label), plan.ttl, on_busy}, plan.wait, plan.grace},
      signals);
  return base::match(
      std::move(acquisition),
      [&](hold::Held&& held) { return run_job(plan, std::move(held), signals); },
      [&](hold::GaveUp&& gave_up) { return report_busy(plan, gave_up); },
      [&](hold::Interrupted&& interrupted) {
        return os::ExitStatus::signal_code(interrupted.signal);
      },
      [&](store::Fault&& fault) { return report_fault(plan.server, fault); });
}

Act understand(const Settings& settings, const std::vector<std::string>& operands) {
  return [plan = understand_run(settings, operands)] { return execute(plan); };
}

}  // namespace

const Command run_command{
    "",
    "[OPTIONS] -k KEY [--] COMMAND [ARG]...",
    "run COMMAND while holding a lock that every machine respects",
    "Examples:\n"
    "  rlock -k batch:task:list -- ./job.sh         one of several cron hosts runs it\n"
    "  rlock -k deploy --wait 30m -- make deploy    CI jobs go one at a time, in order\n"
    "  rlock -S redis://lock1/0 -k nightly -c 'pg_dump db | gzip > db.gz'\n"
    "  rlock inspect deploy                         who holds it, who waits\n"
    "\n"
    "Exit codes: the job's own, 128+N if it died of signal N, 64 usage, 69 no server, 75 busy,\n"
    "76 lock lost and job stopped, 77 denied, 78 bad config or URL, 126 and 127 not run.\n"
    "DUR is a duration: 30, 2.5, 300ms, 30s, 10m, 1h30m, 2d. Options also come from RLOCK_TTL and\n"
    "the like, and from a config file; see rlock(1).",
    declare_run,
    understand};

}  // namespace cmd
