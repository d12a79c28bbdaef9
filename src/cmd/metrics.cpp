// For a monitor: rlock metrics, what is held, waited for and remembered, as OpenMetrics text.
#include <algorithm>
#include <array>
#include <chrono>
#include <map>

#include "base/text.hpp"
#include "cmd/claim_options.hpp"
#include "cmd/commands.hpp"
#include "cmd/present.hpp"
#include "store/backend.hpp"
#include "store/rules/runs.hpp"

namespace cmd {
namespace {

using store::LockReport;
using store::RunOutcome;

struct MetricsPlan {
  ServerChoice server;
  std::vector<std::string> patterns;  // or keys, where they have nothing of a glob
};

// ---- what is asked ----------------------------------------------------------------------------

using Found = std::map<store::LockName, LockReport>;

/// Adds the locks that match; those that are there already stay. `doubt`: see store::Listing.
std::optional<store::Fault> add_matching(const MetricsPlan& plan, store::LockAdmin& admin,
                                         const std::string& pattern, Found& all,
                                         std::string& doubt) {
  const auto name = store::LockName::from(pattern);
  if (name && pattern.find_first_of("*?[\\") == std::string::npos) {
    auto report = plan.server.report_on(admin, *name);
    if (!report) return std::move(report).error();
    all.try_emplace(*name, *std::move(report));
    return std::nullopt;
  }
  auto reports = plan.server.list(admin, pattern, store::Listed::known);
  if (!reports) return std::move(reports).error();
  if (reports->missing) return std::move(reports->missing);
  for (auto& each : reports->locks) all.try_emplace(each.name, std::move(each));
  if (!reports->doubt.empty()) doubt = std::move(reports->doubt);
  return std::nullopt;
}

// ---- what is told -----------------------------------------------------------------------------

/// The outcomes that are told apart: as in rlock log, but for the exit code.
struct NamedOutcome {
  RunOutcome::Kind kind;
  std::string_view name;
};
constexpr std::array outcomes{
    NamedOutcome{RunOutcome::Kind::exited, "succeeded"},
    NamedOutcome{RunOutcome::Kind::exited, "failed"},
    NamedOutcome{RunOutcome::Kind::signalled, "signalled"},
    NamedOutcome{RunOutcome::Kind::lost, "lost"},
    NamedOutcome{RunOutcome::Kind::cancelled, "cancelled"},
    NamedOutcome{RunOutcome::Kind::superseded, "superseded"},
    NamedOutcome{RunOutcome::Kind::overran, "overran"},
    NamedOutcome{RunOutcome::Kind::not_started, "not-started"},
    NamedOutcome{RunOutcome::Kind::released, "released"},
};

/// Empty for a run that goes on.
std::string_view outcome_of(const store::Run& run) {
  const RunOutcome& outcome = run.outcome;
  if (outcome.kind == RunOutcome::Kind::exited && outcome.number != 0) return "failed";
  const auto found = std::find_if(outcomes.begin(), outcomes.end(), [&](const NamedOutcome& each) {
    return each.kind == outcome.kind;
  });
  return found == outcomes.end() ? std::string_view{} : found->name;
}

/// For the value of a label. As a table shows a name, so that two names never become one: a series
/// that is there twice makes the whole text invalid.
std::string label_value(std::string_view name) {
  std::string out;
  for (const char c : base::printable(name)) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return '"' + out + '"';
}

std::string seconds(base::Millis length) {
  return fmt::format("{}.{:03}", length.count() / 1'000, length.count() % 1'000);
}

/// One metric after the other, each with all of its locks, as the format requires. All are gauges:
/// the server forgets all but the last 50 runs, so a number of runs may decrease.
class Text {
 public:
  Text(const Found& reports, Pieces::Write write) : reports_{reports}, text_{std::move(write)} {}

  /// `value_of` a lock; nothing: it has none.
  template <class ValueOf>
  void gauge(std::string_view name, std::string_view help, const ValueOf& value_of) {
    begin(name, help);
    for (const auto& [key, report] : reports_) {
      if (const auto value = value_of(report)) add(name, key, "", *value);
    }
  }
  /// The same of each outcome.
  template <class ValueOf>
  void gauge_by_outcome(std::string_view name, std::string_view help, const ValueOf& value_of) {
    begin(name, help);
    for (const auto& [key, report] : reports_) {
      for (const auto& outcome : outcomes) {
        const std::string label = fmt::format(",outcome=\"{}\"", outcome.name);
        if (const auto value = value_of(report, outcome.name)) add(name, key, label, *value);
      }
    }
  }
  void end() {
    text_.add("# EOF\n");
    text_.end();
  }

 private:
  void begin(std::string_view name, std::string_view help) {
    text_.add(fmt::format("# TYPE {} gauge\n", name));
    if (name.ends_with("_seconds")) text_.add(fmt::format("# UNIT {} seconds\n", name));
    text_.add(fmt::format("# HELP {} {}\n", name, help));
  }
  void add(std::string_view name, const store::LockName& key, std::string_view labels,
           const std::string& value) {
    text_.add(fmt::format("{}{{key={}{}}} {}\n", name, label_value(key.text()), labels, value));
  }

  const Found& reports_;
  Pieces text_;
};

using Value = std::optional<std::string>;

Value longest_hold(const LockReport& report) {
  std::optional<base::Millis> longest;
  for (const auto& each : report.holders) longest = std::max(longest, each.holder.held_for);
  if (!longest) return std::nullopt;
  return seconds(*longest);
}

Value longest_wait(const LockReport& report) {
  base::Millis longest{0};
  for (const auto& each : report.waiters) {
    longest = std::max(longest, each.waiting_for.value_or(base::Millis{0}));
  }
  return seconds(longest);
}

/// The run that ended last, of those with that outcome if one is named; nullptr if none did. Nobody
/// saw the end of one that was lost: its grant counts.
const store::Run* last_run(const LockReport& report, std::string_view outcome) {
  const auto ago = [](const store::Run& run) { return run.ended_ago().value_or(run.granted_ago); };
  const store::Run* last = nullptr;
  for (const auto& run : report.runs) {
    const auto its = outcome_of(run);
    if (its.empty() || (!outcome.empty() && its != outcome)) continue;
    if (last == nullptr || ago(run) < ago(*last)) last = &run;
  }
  return last;
}

void write_metrics(const Found& reports, Pieces::Write write) {
  const auto now =
      std::chrono::duration_cast<base::Millis>(std::chrono::system_clock::now().time_since_epoch());
  Text text{reports, std::move(write)};
  text.gauge("rlock_holders", "How many hold the lock.",
             [](const LockReport& report) { return Value{std::to_string(report.holders.size())}; });
  text.gauge("rlock_waiters", "How many wait for the lock.",
             [](const LockReport& report) { return Value{std::to_string(report.waiters.size())}; });
  text.gauge("rlock_longest_hold_seconds",
             "For how long the lock has been held; none if it is free.", longest_hold);
  text.gauge("rlock_longest_wait_seconds",
             "For how long a waiter has been waiting; 0 if none does.", longest_wait);
  text.gauge("rlock_typical_run_seconds",
             "Median length of those of the last 20 runs that ended by themselves.",
             [](const LockReport& report) -> Value {
               const auto length = store::rules::typical_length(report.runs);
               return length ? Value{seconds(*length)} : std::nullopt;
             });
  text.gauge("rlock_last_run_seconds", "Length of the run that ended last.",
             [](const LockReport& report) -> Value {
               const auto* run = last_run(report, "");
               return run != nullptr && run->held ? Value{seconds(*run->held)} : std::nullopt;
             });
  text.gauge_by_outcome("rlock_last_run_timestamp_seconds",
                        "Unix time of the end of the last run with this outcome.",
                        [&](const LockReport& report, std::string_view outcome) -> Value {
                          const auto* run = last_run(report, outcome);
                          if (run == nullptr) return std::nullopt;
                          const auto ago = run->ended_ago().value_or(run->granted_ago);
                          if (ago > now) return std::nullopt;  // one of the clocks is wrong
                          return seconds(now - ago);
                        });
  text.gauge_by_outcome("rlock_remembered_runs", "How many of the last 50 runs at most ended so.",
                        [](const LockReport& report, std::string_view outcome) {
                          return Value{std::to_string(std::count_if(
                              report.runs.begin(), report.runs.end(),
                              [&](const store::Run& run) { return outcome_of(run) == outcome; }))};
                        });
  text.end();
}

int execute(const MetricsPlan& plan) {
  const auto admin = store::open_admin(plan.server.spec);
  Found reports;
  std::string doubt;
  for (const auto& pattern : plan.patterns) {
    if (const auto fault = add_matching(plan, *admin, pattern, reports, doubt)) {
      return report_fault(plan.server, *fault);
    }
  }
  say_doubt(doubt);
  write_metrics(reports, print);
  return ExitCode::ok;
}

Act resolve_metrics(const Settings& settings, const std::vector<std::string>& operands) {
  MetricsPlan plan{resolve_server(settings), operands};
  if (plan.patterns.empty()) plan.patterns.emplace_back("*");
  return [plan] { return execute(plan); };
}

}  // namespace

const Command metrics_command{
    "metrics",
    of::metrics,
    "metrics [OPTIONS] [KEY|PATTERN]...",
    "holders, waiters and the last runs, as text for Prometheus",
    "Prints OpenMetrics text, which Prometheus reads as well. All or nothing: where\n"
    "the server does not answer, nothing is printed, and the exit code is not 0.\n"
    "\n"
    "Examples:\n"
    "  rlock metrics\n"
    "  rlock metrics nightly 'batch:*' >.new && mv .new rlock.prom",
    resolve_metrics};

}  // namespace cmd
