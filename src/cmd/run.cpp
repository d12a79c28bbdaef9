// rlock -k KEY COMMAND: the main path, from its options to its exit code.
#include "cmd/run.hpp"

#include "cmd/commands.hpp"
#include "cmd/nested.hpp"
#include "cmd/report.hpp"
#include "hold/acquire.hpp"
#include "hold/environment.hpp"
#include "os/proc.hpp"

namespace cmd {
namespace {

/// Inside a job that holds these locks already. Nothing: this run needs locks of its own.
std::optional<int> run_nested(const RunPlan& plan, os::Signals& signals, RunRecord& record) {
  const OuterLocks outer = outer_locks(plan.lock);
  if (outer.keys.empty()) return std::nullopt;
  if (!plan.reentrant) {
    if (!any_still_held(outer, plan.lock)) return std::nullopt;
    report_nested(outer);
    record.outcome = RunRecord::Outcome::busy;
    record.why = "held by the run around this one";
    return plan.lock.conflict_exit_code;
  }
  if (!outer.all) {
    throw UsageError{ExitCode::usage,
                     "--reentrant: the job holds some of these keys and not the others; name keys "
                     "of which it holds all, or none"};
  }
  // That run's end says nothing of this one's.
  if (plan.lock.slot) {
    throw UsageError{
        ExitCode::usage,
        "--reentrant: the job holds this key already, and a run for a --slot takes the "
        "lock itself"};
  }
  auto verified = verify(outer, plan.lock);
  if (const int* refused = std::get_if<int>(&verified)) {
    record.outcome =
        *refused == ExitCode::lost ? RunRecord::Outcome::lost : RunRecord::Outcome::failed;
    return *refused;
  }
  record.leases = std::get<std::vector<store::Lease>>(std::move(verified));
  return run_job(plan, {}, signals, record);
}

int carry_out(const RunPlan& plan, RunRecord& record) {
  os::require_proc();
  os::Signals signals;  // before any thread
  if (const auto code = run_nested(plan, signals, record)) return *code;
  auto claims = plan.lock.claims();
  const auto& server = plan.lock.server;
  if (const auto why =
          hold::too_much_to_tell(claims, plan.command, server.to_tell(), plan.lock.slot)) {
    throw UsageError{ExitCode::usage, *why + "; give fewer or shorter keys"};
  }
  warn_of_default_server(server);
  hold::InterruptionBySignals interruption{signals};
  auto acquisition = hold::acquire([&] { return plan.lock.open_store(); },
                                   {std::move(claims), plan.lock.wait, plan.grace,
                                    plan.lock.server.longest_answer, outer_tokens()},
                                   interruption);
  if (auto* locks = std::get_if<hold::HeldLocks>(&acquisition)) {
    record.leases = locks->leases();
    return run_job(plan, std::move(*locks), signals, record);
  }
  const auto& not_acquired = std::get<hold::NotAcquired>(acquisition);
  note(record, not_acquired);
  return report_not_acquired(plan.lock, not_acquired);
}

/// A shell ends a script's loop at ^C only if it sees that the command died of it: an exit code of
/// 130 says that the command had its own way with the signal.
void die_like_the_job(int code) {
  for (const int signal : {SIGINT, SIGQUIT}) {
    if (code == os::ExitStatus::signal_code(signal)) os::Signals::die_of(signal);
  }
}

int execute(const RunPlan& plan) {
  RunRecord record{plan.lock.keys, plan.lock.server.shown};
  if (plan.lock.slot) record.slot = plan.lock.slot->id;
  try {
    const int code = carry_out(plan, record);
    save(record, plan.status_file, code);
    const bool died = record.outcome == RunRecord::Outcome::interrupted ||
                      (record.job && record.job->signalled());
    if (died) die_like_the_job(code);
    return code;
  } catch (const UsageError&) {
    throw;  // nothing was touched
  } catch (const std::exception& error) {
    record.outcome = RunRecord::Outcome::failed;
    record.why = error.what();
    save(record, plan.status_file, ExitCode::system_refused);
    throw;
  }
}

Act resolve_run(const Settings& settings, const std::vector<std::string>& operands) {
  return [plan = resolve_run_plan(settings, operands)] { return execute(plan); };
}

}  // namespace

const Command run_command{
    "",
    of::run,
    "[OPTIONS] -k KEY [--] COMMAND [ARG]...",
    "run COMMAND while holding a lock that every machine respects",
    "Examples:\n"
    "  rlock -k nightly -- ./backup.sh             one of several cron hosts runs it\n"
    "  rlock -k deploy --wait 30m -- make deploy   CI jobs take turns, in order",
    resolve_run};

}  // namespace cmd
