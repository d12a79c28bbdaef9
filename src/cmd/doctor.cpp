// rlock doctor [KEY]: is this server fit to hold locks?
#include <fmt/format.h>

#include <algorithm>
#include <system_error>

#include "cmd/claim_options.hpp"
#include "cmd/commands.hpp"
#include "cmd/json.hpp"
#include "cmd/present.hpp"
#include "os/process_tree.hpp"
#include "store/backend.hpp"

namespace cmd {
namespace {

using store::Finding;

// All questions together have the time of so many: a person waits for the answer.
constexpr int longest_answers = 4;
// A key of no job, unless the command line names one.
constexpr const char* default_key = "rlock:doctor";

struct DoctorPlan {
  ServerChoice server;
  store::LockName key;
  bool json;
  Look look;
};

const char* name_of(Finding::Verdict verdict) {
  switch (verdict) {
    case Finding::Verdict::ok: return "ok";
    case Finding::Verdict::warn: return "warn";
    case Finding::Verdict::fail: return "fail";
    case Finding::Verdict::unknown: break;
  }
  return "unknown";
}

Colour colour_of(Finding::Verdict verdict) {
  switch (verdict) {
    case Finding::Verdict::ok: return Colour::good;
    case Finding::Verdict::warn: return Colour::doubtful;
    case Finding::Verdict::fail: return Colour::bad;
    case Finding::Verdict::unknown: break;
  }
  return Colour::none;
}

std::string counted(std::ptrdiff_t number, const char* what) {
  return fmt::format("{} {}{}", number, what, number == 1 ? "" : "s");
}

/// "fit to hold locks, 1 warning", or "NOT fit to hold locks: 1 failure, 2 warnings".
std::string conclusion(const store::Findings& findings, const Look& look) {
  const auto number = [&](Finding::Verdict verdict) {
    return std::count_if(findings.begin(), findings.end(),
                         [&](const Finding& each) { return each.verdict == verdict; });
  };
  const auto failures = number(Finding::Verdict::fail);
  const auto warnings = number(Finding::Verdict::warn);
  const auto more = warnings > 0 ? ", " + counted(warnings, "warning") : std::string{};
  const bool is_fit = failures == 0;
  const auto text =
      (is_fit ? "fit to hold locks" : "NOT fit to hold locks: " + counted(failures, "failure")) +
      more;
  const auto fit_colour = warnings > 0 ? Colour::doubtful : Colour::good;
  return painted(wrapped(text, 0, look.columns.value_or(std::string::npos)),
                 is_fit ? fit_colour : Colour::bad, look);
}

std::string findings_as_table(const std::string& server, const store::Findings& findings,
                              const Look& look) {
  std::size_t width = 12;
  for (const Finding& each : findings) width = std::max(width, each.subject.size());
  std::string text = fmt::format("{:<8} {:<{}} {}\n", "", "server", width, server);
  for (const Finding& each : findings) {
    const auto column = 8 + 1 + width + 1;
    const std::size_t fits = look.columns.value_or(std::string::npos);
    const auto verdict =
        painted(fmt::format("{:<8}", name_of(each.verdict)), colour_of(each.verdict), look);
    text += fmt::format("{} {:<{}} {}\n", verdict, each.subject, width,
                        wrapped(each.seen, column, fits));
    if (!each.advice.empty()) {
      text += std::string(column, ' ') + wrapped(each.advice, column, fits) + "\n";
    }
  }
  return text + "\n" + conclusion(findings, look) + "\n";
}

std::string findings_as_json(const std::string& server, const store::Findings& findings, bool fit) {
  Json json;
  json["server"] = server;
  json["fit"] = fit;
  json["findings"] = Json::array();
  for (const Finding& each : findings) {
    Json entry;
    entry["subject"] = each.subject;
    entry["verdict"] = name_of(each.verdict);
    entry["seen"] = each.seen;
    entry["advice"] = each.advice.empty() ? Json(nullptr) : Json(each.advice);
    json["findings"].push_back(std::move(entry));
  }
  return dumped(json);
}

/// Of this host, not of the server: whether the processes of a job can be found and signalled.
store::Findings processes() {
  using Verdict = Finding::Verdict;
  constexpr const char* subject = "processes";
  try {
    os::require_proc();
  } catch (const std::system_error& error) {
    return {{Verdict::fail, subject, error.what(), "no job can be run here"}};
  }
  store::Findings found;
  if (!os::can_signal_exactly()) {
    found.push_back(
        {Verdict::warn, subject, "pidfd_send_signal is refused: signals go by number",
         "use Linux 5.1 or newer, and a container profile that allows pidfd_send_signal"});
  }
  if (os::proc_hides_processes()) {
    found.push_back({Verdict::warn, subject,
                     "/proc is mounted with hidepid: what hides is killed, but may miss SIGTERM",
                     "run rlock as a user in the group of that mount's gid="});
  }
  if (found.empty()) {
    found.push_back({Verdict::ok, subject, "those of a job are found and signalled", ""});
  }
  return found;
}

int execute(const DoctorPlan& plan) {
  const auto longest = plan.server.longest_answer * longest_answers;
  auto findings =
      store::examine(plan.server.spec, plan.key, {base::Deadline::after(base::now(), longest)});
  for (Finding& each : findings) each.seen += plan.server.source_if_refused(each.seen);
  if (!plan.server.exported) {
    findings.push_back({Finding::Verdict::warn, "choice", "this is the default server",
                        "each host has its own: set one server for all, in RLOCK_SERVER or "
                        "/etc/rlock.conf"});
  }
  for (Finding& each : processes()) findings.push_back(std::move(each));
  const bool fit = std::none_of(findings.begin(), findings.end(), [](const Finding& each) {
    return each.verdict == Finding::Verdict::fail;
  });
  print(plan.json ? findings_as_json(plan.server.shown, findings, fit)
                  : findings_as_table(plan.server.shown, findings, plan.look));
  return fit ? ExitCode::ok : ExitCode::not_found_here;
}

Act resolve_doctor(const Settings& settings, const std::vector<std::string>& operands) {
  const DoctorPlan plan{resolve_server(settings),
                        operands.empty() && settings.all("key").empty()
                            ? key_of("KEY", default_key)
                            : only_key(settings, operands),
                        settings.is_on("json"), look_of(settings)};
  return [plan] { return execute(plan); };
}

}  // namespace

const Command doctor_command{
    "doctor",
    of::doctor,
    "doctor [OPTIONS] [KEY]",
    "check whether the server is fit to hold locks",
    "Asks the server about itself, and takes and releases KEY (rlock:doctor) as a run\n"
    "would, unless somebody holds it. What the server does not let us ask is shown as\n"
    "unknown. Exits 0 if the server is fit, 1 if something fails.\n"
    "\n"
    "Examples:\n"
    "  rlock doctor\n"
    "  rlock doctor -S redis://lock1/0 --json batch:task:list",
    resolve_doctor};

}  // namespace cmd
