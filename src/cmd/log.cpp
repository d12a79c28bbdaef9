// rlock log and rlock overdue: past runs, as the server recorded them, and whether one is late.
#include <algorithm>
#include <chrono>
#include <set>

#include "base/duration.hpp"
#include "base/log.hpp"
#include "base/text.hpp"
#include "cmd/claim_options.hpp"
#include "cmd/commands.hpp"
#include "cmd/present.hpp"
#include "cmd/timeline.hpp"
#include "store/backend.hpp"

namespace cmd {
namespace {

bool is_success(const store::Run& run) {
  return run.outcome == store::RunOutcome{store::RunOutcome::Kind::exited, 0};
}

bool is_failure(const store::Run& run) {
  using Kind = store::RunOutcome::Kind;
  const bool undecided = run.outcome.kind == Kind::running || run.outcome.kind == Kind::released;
  return !undecided && !is_success(run);
}

// ---- log --------------------------------------------------------------------------------------

struct Target {
  std::string pattern;
  std::optional<store::LockName> key;  // instead of the pattern
};

struct LogPlan {
  ServerChoice server;
  std::vector<Target> targets;
  std::optional<unsigned> last;
  bool failed;
  enum class Form { table, json, timeline } form;
  Look look;
  bool wide;

  [[nodiscard]] KeyColumn key_column() const {
    return targets.size() == 1 && targets.front().key ? KeyColumn::no : KeyColumn::yes;
  }
};

store::Result<store::Listing> remembered(const ServerChoice& server, const Target& target,
                                         store::LockAdmin& admin) {
  if (!target.key) return server.list(admin, target.pattern, store::Listed::remembered);
  auto report = server.report_on(admin, *target.key);
  if (!report) return std::move(report).error();
  return store::Listing{{*std::move(report)}};
}

/// Each lock once, in the order of the targets.
store::Result<store::Listing> remembered(const LogPlan& plan, store::LockAdmin& admin) {
  store::Listing all;
  std::set<store::LockName> known;
  for (const Target& target : plan.targets) {
    auto listing = remembered(plan.server, target, admin);
    if (!listing) return std::move(listing).error();
    for (auto& report : listing->locks) {
      if (known.insert(report.name).second) all.locks.push_back(std::move(report));
    }
    if (listing->missing) all.missing = std::move(listing->missing);
    if (!listing->doubt.empty()) all.doubt = std::move(listing->doubt);
  }
  return all;
}

Canvas canvas_of(const LogPlan& plan) {
  Canvas canvas;
  if (plan.look.columns) canvas.columns = plan.look.columns;
  if (plan.wide) canvas.columns = std::nullopt;
  canvas.charset = charset_of(variable("LC_ALL"), variable("LC_CTYPE"), variable("LANG"));
  canvas.colour = plan.look.colour;
  canvas.now = std::chrono::floor<base::Millis>(std::chrono::system_clock::now());
  return canvas;
}

int execute(const LogPlan& plan) {
  using Form = LogPlan::Form;
  const auto admin = store::open_admin(plan.server.spec);
  auto listing = remembered(plan, *admin);
  if (!listing) return report_fault(plan.server, listing.error());
  auto& reports = listing->locks;
  for (store::LockReport& report : reports) {
    if (plan.failed) std::erase_if(report.runs, std::not_fn(is_failure));
    if (plan.failed || plan.form != Form::timeline) report.waiters.clear();
    if (plan.last && report.runs.size() > *plan.last) {
      report.runs.erase(report.runs.begin() + *plan.last, report.runs.end());
    }
  }
  std::erase_if(reports,
                [](const auto& each) { return each.runs.empty() && each.waiters.empty(); });
  if (plan.form == Form::json) {
    write_log_json(reports, print);
  } else if (reports.empty()) {
    std::vector<std::string> names;
    for (const Target& each : plan.targets) {
      names.push_back(fmt::format("'{}'", shown_word(each.pattern)));
    }
    base::log::notice("the server remembers no {}run of {}", plan.failed ? "failed " : "",
                      fmt::join(names, ", "));
  } else if (plan.form == Form::timeline) {
    print(timeline(reports, canvas_of(plan)));
  } else {
    print(log_table(reports, plan.key_column(), plan.look));
  }
  return report_gaps(plan.server, *listing);
}

/// An operand is a key if it has nothing of a glob; -k always names one.
std::vector<Target> targets_in(const Settings& settings, const std::vector<std::string>& operands) {
  if (!settings.all("key").empty()) {
    auto key = only_key(settings, operands);
    std::string text = key.text();
    return {{std::move(text), std::move(key)}};
  }
  if (operands.empty()) return {{"*", std::nullopt}};
  std::vector<Target> targets;
  for (const auto& each : operands) {
    const bool is_glob = each.find_first_of("*?[\\") != std::string::npos;
    targets.push_back({each, is_glob ? std::nullopt : store::LockName::from(each)});
  }
  return targets;
}

LogPlan::Form form_in(const Settings& settings) {
  using Form = LogPlan::Form;
  const bool draws = settings.is_on("timeline");
  if (!settings.is_on("json")) return draws ? Form::timeline : Form::table;
  if (draws) throw UsageError{ExitCode::usage, "--timeline and --json contradict each other"};
  return Form::json;
}

Act resolve_log(const Settings& settings, const std::vector<std::string>& operands) {
  constexpr unsigned most = 1'000;
  const auto last = settings.find("last");
  const LogPlan plan{resolve_server(settings),
                     targets_in(settings, operands),
                     last ? std::optional{number_of(*last, 1, most)} : std::nullopt,
                     settings.is_on("failed"),
                     form_in(settings),
                     look_of(settings),
                     settings.is_on("wide")};
  return [plan] { return execute(plan); };
}

// ---- overdue ----------------------------------------------------------------------------------

struct OverduePlan {
  ServerChoice server;
  store::LockName key;
  base::Millis within;
  bool json;
};

/// Why it is, or that it is not.
std::string explained(const std::vector<store::Run>& runs, const store::Run* good, bool overdue) {
  if (good != nullptr) {
    return fmt::format("{}its last good run ended {} ago ({})",
                       overdue ? "" : "not overdue: ", base::format_duration(*good->ended_ago()),
                       good->token.shown());
  }
  if (runs.empty()) return "the server remembers no run";
  const auto is_over = [](const store::Run& run) {
    return run.outcome.kind != store::RunOutcome::Kind::running;
  };
  const auto over = std::count_if(runs.begin(), runs.end(), is_over);
  const auto oldest = std::find_if(runs.rbegin(), runs.rend(), is_over);
  const std::string since =
      base::format_duration((oldest == runs.rend() ? runs.back() : *oldest).granted_ago);
  if (over == 0) return fmt::format("no run has ended yet; one began {} ago and goes on", since);
  if (over == 1) {
    return fmt::format("the only run that has ended did not exit with 0; it began {} ago", since);
  }
  return fmt::format("none of the last {} runs exited with 0; the oldest of them began {} ago",
                     over, since);
}

int execute(const OverduePlan& plan) {
  const auto admin = store::open_admin(plan.server.spec);
  const auto report = plan.server.report_on(*admin, plan.key);
  if (!report) return report_fault(plan.server, report.error());
  const auto& runs = report->runs;
  // The one that ended last, which is not always the one that began last.
  const store::Run* good = nullptr;
  for (const store::Run& run : runs) {
    if (!is_success(run)) continue;
    if (good == nullptr || *run.ended_ago() < *good->ended_ago()) good = &run;
  }
  const bool overdue = good == nullptr || *good->ended_ago() > plan.within;
  const std::string why = explained(runs, good, overdue);
  if (plan.json) {
    Json json;
    json["key"] = plan.key.text();
    json["overdue"] = overdue;
    json["why"] = why;
    json["within_ms"] = plan.within.count();
    json["last_success"] = good == nullptr ? Json(nullptr) : as_object(*good);
    json["runs_remembered"] = runs.size();
    json["remembered_ms"] = runs.empty() ? Json(nullptr) : Json(runs.back().granted_ago.count());
    print(dumped(json));
  } else {
    print(fmt::format("'{}': {}{}\n", base::printable(plan.key.text()), overdue ? "overdue: " : "",
                      why));
  }
  return overdue ? ExitCode::not_found_here : ExitCode::ok;
}

Act resolve_overdue(const Settings& settings, const std::vector<std::string>& operands) {
  const auto within = settings.find("within");
  if (!within) {
    throw UsageError{ExitCode::usage,
                     "no --within given; say how recent the last good run must be"};
  }
  const OverduePlan plan{resolve_server(settings), only_key(settings, operands),
                         duration_of(*within), settings.is_on("json")};
  return [plan] { return execute(plan); };
}

}  // namespace

const Command log_command{
    "log",
    of::log,
    "log [OPTIONS] [KEY|PATTERN]...",
    "show the last runs under a lock: when, where, and how they ended",
    "The server remembers up to 50 runs of each lock, for as long as --history told\n"
    "it to. PATTERN is a glob, as of rlock list. A run whose end nobody saw (its host\n"
    "died, its lock was lost) counts as 'lost' once it no longer holds the lock.\n"
    "\n"
    "Examples:\n"
    "  rlock log nightly\n"
    "  rlock log -n 1 --failed 'batch:*'\n"
    "  rlock log --timeline -n 20 deploy:web deploy:db\n"
    "  rlock log --json nightly | jq -r '.locks[].runs[0].outcome'",
    resolve_log};

const Command overdue_command{
    "overdue",
    of::overdue,
    "overdue [OPTIONS] KEY --within DUR",
    "check that a run ended well in the last hours or days",
    "Exits 0 if a run under KEY ended with exit code 0 in the last DUR, and 1 if none\n"
    "did or the server remembers none; a line on stdout says why.\n"
    "\n"
    "Examples:\n"
    "  rlock overdue nightly --within 26h || mail -s 'no backup' ops@example.org\n"
    "  rlock overdue --json nightly --within 26h | jq .last_success",
    resolve_overdue};

}  // namespace cmd
