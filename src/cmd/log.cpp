// What ran, and whether it ran in time: rlock log and overdue, from what the server remembers.
#include <algorithm>

#include "base/duration.hpp"
#include "base/log.hpp"
#include "base/text.hpp"
#include "cmd/claim_options.hpp"
#include "cmd/commands.hpp"
#include "cmd/present.hpp"
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

struct LogPlan {
  ServerChoice server;
  std::string pattern;
  std::optional<store::LockName> key;  // instead of the pattern
  std::optional<unsigned> last;
  bool failed;
  bool json;
  Look look;
};

store::Result<store::Listing> remembered(const LogPlan& plan, store::LockAdmin& admin) {
  if (!plan.key) return plan.server.list(admin, plan.pattern, store::Listed::remembered);
  auto report = plan.server.report_on(admin, *plan.key);
  if (!report) return std::move(report).error();
  return store::Listing{{*std::move(report)}};
}

int execute(const LogPlan& plan) {
  const auto admin = store::open_admin(plan.server.spec);
  auto listing = remembered(plan, *admin);
  if (!listing) return report_fault(plan.server, listing.error());
  auto& reports = listing->locks;
  for (store::LockReport& report : reports) {
    if (plan.failed) std::erase_if(report.runs, std::not_fn(is_failure));
    if (plan.last && report.runs.size() > *plan.last) {
      report.runs.erase(report.runs.begin() + *plan.last, report.runs.end());
    }
  }
  std::erase_if(reports, [](const auto& each) { return each.runs.empty(); });
  if (plan.json) {
    print(log_json(reports));
  } else if (reports.empty()) {
    base::log::notice("the server remembers no {}run of '{}'", plan.failed ? "failed " : "",
                      shown_word(plan.pattern));
  } else {
    print(log_table(reports, plan.key ? KeyColumn::no : KeyColumn::yes, plan.look));
  }
  return report_gaps(plan.server, *listing);
}

/// The operand, if it has nothing of a glob, or -k; nothing means the pattern.
std::optional<store::LockName> key_in(const Settings& settings,
                                      const std::vector<std::string>& operands) {
  if (!settings.all("key").empty()) return only_key(settings, operands);
  if (operands.size() > 1) {
    throw UsageError{
        ExitCode::usage,
        fmt::format("unexpected argument '{}'; give one KEY or PATTERN", shown_word(operands[1]))};
  }
  const bool is_glob =
      operands.empty() || operands.front().find_first_of("*?[\\") != std::string::npos;
  return is_glob ? std::nullopt : store::LockName::from(operands.front());
}

Act resolve_log(const Settings& settings, const std::vector<std::string>& operands) {
  constexpr unsigned most = 1'000;
  const auto last = settings.find("last");
  auto key = key_in(settings, operands);
  std::string pattern = operands.empty() ? "*" : operands.front();
  if (key) pattern = key->text();
  const LogPlan plan{
      resolve_server(settings), std::move(pattern),
      std::move(key),           last ? std::optional{number_of(*last, 1, most)} : std::nullopt,
      settings.is_on("failed"), settings.is_on("json"),
      look_of(settings)};
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
    "log [OPTIONS] [KEY|PATTERN]",
    "show the last runs under a lock: when, where, and how they ended",
    "The server remembers up to 50 runs of each lock, for as long as --history told\n"
    "it to. PATTERN is a glob, as of rlock list. A run whose end nobody saw (its host\n"
    "died, its lock was lost) counts as 'lost' once it no longer holds the lock.\n"
    "\n"
    "Examples:\n"
    "  rlock log nightly\n"
    "  rlock log -n 1 --failed 'batch:*'\n"
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
