#include "cmd/run.hpp"

#include "cmd/job.hpp"
#include "cmd/nested.hpp"
#include "cmd/not_had_report.hpp"
#include "cmd/refusal.hpp"
#include "cmd/run_options.hpp"

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
    throw Refusal{ExitCode::usage,
                  "--reentrant: the job holds some of these keys and not the others, accepted: "
                  "keys of which it holds all, or none"};
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
  os::Signals signals;  // before any thread
  if (const auto code = run_nested(plan, signals, record)) return *code;
  auto acquisition = hold::acquire([&] { return plan.lock.open_store(); },
                                   {plan.lock.claims(), plan.lock.wait, plan.grace}, signals);
  if (auto* locks = std::get_if<hold::HeldLocks>(&acquisition)) {
    record.leases = locks->leases();
    return run_job(plan, std::move(*locks), signals, record);
  }
  const auto& not_had = std::get<hold::NotAcquired>(acquisition);
  note(record, not_had);
  return report_not_had(plan.lock, not_had);
}

int execute(const RunPlan& plan) {
  RunRecord record;
  try {
    const int code = carry_out(plan, record);
    save(record, plan, code);
    return code;
  } catch (const Refusal&) {
    throw;  // nothing was touched
  } catch (const std::exception& error) {
    record.outcome = RunRecord::Outcome::failed;
    record.why = error.what();
    save(record, plan, ExitCode::system_refused);
    throw;
  }
}

Act resolve_run(const Settings& settings, const std::vector<std::string>& operands) {
  return [plan = understand_run(settings, operands)] { return execute(plan); };
}

}  // namespace

const Command run_command{
    "",
    "[OPTIONS] -k KEY [--] COMMAND [ARG]...",
    "run COMMAND while holding a lock that every machine respects",
    "Examples:\n"
    "  rlock -k batch:task:list -- ./job.sh         one of several cron hosts runs it\n"
    "  rlock -k nightly --min-hold 1m -- ./job.sh   the same, where their clocks differ\n"
    "  rlock -k deploy --wait 30m -- make deploy    CI jobs go one at a time, in order\n"
    "  rlock -k deploy --supersede -- make deploy   the newest one wins\n"
    "  rlock -k db -s -w 1m -- ./report.sh          many readers, or one writer\n"
    "  rlock -k licence --permits 3 -w 1h -- ./sim  at most three at a time\n"
    "  rlock -S redis://lock1/0 -k nightly -c 'pg_dump db | gzip > db.gz'\n"
    "  rlock inspect deploy                         who holds it, who waits\n"
    "\n"
    "Exit codes: the job's own, 128+N if it died of signal N, 64 usage, 69 no server, 75 busy,\n"
    "76 lock lost or cancelled and job stopped, 77 denied, 78 bad config or URL or other users\n"
    "of the key want it in another way, 126 and 127 not run.\n"
    "DUR is a duration: 30, 2.5, 300ms, 30s, 10m, 1h30m, 2d. Options also come from RLOCK_TTL and\n"
    "the like, and from a config file; see rlock(1).",
    declare_run,
    resolve_run};

}  // namespace cmd
