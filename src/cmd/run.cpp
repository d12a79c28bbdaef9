// rlock -k KEY COMMAND: its options, the locks it may be inside of, and the job from the grant to
// the release.
#include <algorithm>
#include <cstdlib>

#include "base/duration.hpp"
#include "base/log.hpp"
#include "base/result.hpp"
#include "base/text.hpp"
#include "cmd/claim_options.hpp"
#include "cmd/commands.hpp"
#include "cmd/nested.hpp"
#include "cmd/present.hpp"
#include "cmd/slot.hpp"
#include "cmd/status_file.hpp"
#include "hold/environment.hpp"
#include "hold/renewer.hpp"
#include "hold/run_end.hpp"
#include "hold/supervise.hpp"
#include "os/error.hpp"
#include "os/exec.hpp"
#include "os/file.hpp"
#include "os/stdio.hpp"

namespace cmd {
namespace {

using base::Deadline;
using Stage = os::NotStarted::Stage;
using Reason = hold::StoppedFor::Reason;

// ---- the options ------------------------------------------------------------------------------

struct RunPlan {
  ClaimPlan lock;
  base::Millis grace;
  hold::OnLost on_lost;
  base::Millis min_hold;
  std::optional<base::Millis> max_hold;
  bool wait_all;
  bool reentrant;
  std::optional<std::string> status_file;
  std::vector<std::string> command;
};

constexpr base::Millis longest_default_grace{5'000};
// A shorter time is as hard to keep as a shorter TTL.
constexpr base::Millis shortest_max_hold = store::Ttl::shortest;

/// The time between TERM and KILL. With a short --max-hold it is shortened, so that the stop does
/// not begin at once.
base::Millis grace_in(const Settings& settings, store::Ttl ttl,
                      const std::optional<base::Millis>& max_hold) {
  const auto setting = settings.find("grace");
  const base::Millis shortest = std::min(ttl.length(), max_hold.value_or(ttl.length()));
  if (!setting) return std::min(longest_default_grace, shortest / 6);
  const base::Millis grace = duration_of(*setting);
  // It must not come before two refreshes failed.
  const base::Millis most = shortest / 2;
  if (grace > most) {
    throw not_accepted(
        *setting,
        fmt::format("at most half {}, {}", shortest < ttl.length() ? "of --max-hold" : "the TTL",
                    most.count() % 1000 == 0 ? base::format_duration(most)
                                             : fmt::format("{}ms", most.count())));
  }
  return grace;
}

std::optional<base::Millis> max_hold_in(const Settings& settings, base::Millis min_hold) {
  const auto setting = settings.find("max-hold");
  if (!setting) return std::nullopt;
  const base::Millis length = duration_of(*setting);
  if (length < shortest_max_hold) {
    throw not_accepted(*setting, base::format_duration(shortest_max_hold) + " or more");
  }
  if (length < min_hold) throw not_accepted(*setting, "no less than --min-hold");
  return length;
}

hold::OnLost on_lost_in(const Settings& settings) {
  const auto setting = settings.value("on-lost");
  if (setting.text == "stop") return hold::OnLost::stop;
  if (setting.text == "warn") return hold::OnLost::warn;
  throw not_accepted(setting, "stop or warn");
}

/// Checked before the lock is taken: a job whose outcome cannot be told should not begin.
std::optional<std::string> status_file_in(const Settings& settings) {
  const auto setting = settings.find("status-file");
  if (!setting) return std::nullopt;
  if (setting->text.empty()) throw not_accepted(*setting, "the path of a file");
  if (const auto creatable = os::can_create(setting->text); !creatable) {
    throw UsageError{ExitCode::usage,
                     fmt::format("--status-file: cannot write '{}': {}",
                                 base::printable(setting->text), creatable.error().text())};
  }
  return setting->text;
}

std::vector<std::string> command_in(const Settings& settings,
                                    const std::vector<std::string>& operands) {
  const auto string = settings.find("c");
  if (!string) {
    if (operands.empty()) {
      throw UsageError{ExitCode::usage,
                       "no command to run; usage: rlock -k KEY -- COMMAND [ARG]..."};
    }
    if (operands.front().empty()) {
      throw not_accepted("COMMAND", "", "the name or path of a program");
    }
    return operands;
  }
  if (!operands.empty()) {
    throw UsageError{ExitCode::usage, fmt::format("unexpected argument '{}' beside -c STRING",
                                                  shown_word(operands.front()))};
  }
  const char* shell = std::getenv("SHELL");
  return {shell != nullptr && *shell != '\0' ? shell : "/bin/sh", "-c", string->text};
}

store::Label label_of(const std::vector<std::string>& command) {
  // A URL in the place of a command may have a password, and the label is for all to see.
  const std::string& word = command.front();
  const bool is_url = word.find("://") != word.npos;
  const std::string program = is_url ? store::ServerUrl{word}.without_secret() : word;
  return store::Label::tamed(program.substr(program.rfind('/') + 1));
}

RunPlan plan_in(const Settings& settings, const std::vector<std::string>& operands) {
  const auto ttl = *ttl_in(settings);
  auto command = command_in(settings, operands);
  const auto kept = settings.find("min-hold");
  const auto min_hold = kept ? duration_of(*kept) : base::Millis{0};
  const auto max_hold = max_hold_in(settings, min_hold);
  auto lock = resolve_claim(settings, ttl, label_of(command));
  if (kept) require(lock.server, store::Feature::min_hold, "--min-hold");
  lock.slot = slot_in(settings, lock);
  lock.share = settings.is_on("share");
  return {std::move(lock),
          grace_in(settings, ttl, max_hold),
          on_lost_in(settings),
          min_hold,
          max_hold,
          settings.is_on("wait-all"),
          settings.is_on("reentrant"),
          status_file_in(settings),
          std::move(command)};
}

// ---- the job ----------------------------------------------------------------------------------

/// The file is there, and the kernel says "No such file" of what it asks for.
std::string why_no_interpreter(const std::string& missing) {
  auto why = fmt::format("its interpreter '{}' does not exist", shown_word(missing));
  if (missing.ends_with('\r')) {
    why += "; its first line ends with a carriage return: save it with Unix line ends";
  }
  return why;
}

/// `overran`: why, if it was given up because its time was over and not the lease.
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

/// `ours`: no run around this one has it.
void say_granted(const store::Lease& lease, const RunRecord& record, bool ours) {
  const auto waited = ms_since(record.began);
  base::log::Entry{"granted"}
      .with("key", lease.name.text())
      .with("fence", static_cast<std::int64_t>(lease.fence))
      .with("waited_ms", waited)
      .detail("{} '{}' after {}, fence {}", ours ? "got" : "runs under",
              base::printable(lease.name.text()), base::format_duration(base::Millis{waited}),
              lease.fence);
}

void say_released(const store::Lease& lease, const RunRecord& record, const store::RunEnd& end) {
  const auto held = ms_since(*record.granted);
  base::log::Entry{"released"}
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

/// The job is over; what goes wrong from here on is said and does not change the exit code.
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

// What the server is to remember.

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

/// What a run exits with, and what its record says.
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

/// Runs the plan's command under the leases of `record`, keeps `locks` meanwhile and gives them
/// back (there are none where a run around this one has them); returns the exit code and notes in
/// `record` what became of it.
int run_job(const RunPlan& plan, hold::HeldLocks locks, os::Signals& signals, RunRecord& record) {
  // A lease does not wait for a reader.
  const base::log::NonBlockingStderr no_wait{os::write_stderr_at_once};
  record.granted = base::now();
  for (const auto& lease : record.leases) say_granted(lease, record, !locks.empty());
  const auto& server = plan.lock.server;
  const auto environment = hold::job_environment(record.leases, server.to_tell(), plan.lock.slot);
  const auto valid_until = locks.valid_until();
  const bool locks_of_our_own = !locks.empty();
  const os::Program program{plan.command, environment};
  // All that can fail before the job exists is done before; the renewer has no thread yet.
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
  if (started->was_killed()) {
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

// ---- the main path ----------------------------------------------------------------------------

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
  auto acquisition = hold::acquire([&] { return plan.lock.open_store(); },
                                   {std::move(claims), plan.lock.wait, plan.grace,
                                    plan.lock.server.longest_answer, outer_tokens()},
                                   signals);
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
  return [plan = plan_in(settings, operands)] { return execute(plan); };
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
