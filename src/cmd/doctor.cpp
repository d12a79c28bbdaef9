// rlock doctor [KEY]: is this server fit to hold locks?
#include <fmt/format.h>

#include <algorithm>

#include "cmd/claim_options.hpp"
#include "cmd/commands.hpp"
#include "cmd/json.hpp"
#include "cmd/present.hpp"
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

std::string findings_as_table(const std::string& server, const store::Findings& findings) {
  std::size_t width = 12;
  for (const Finding& each : findings) width = std::max(width, each.subject.size());
  std::string text = fmt::format("{:<8} {:<{}} {}\n", "", "server", width, server);
  for (const Finding& each : findings) {
    const char* verdict = name_of(each.verdict);
    text += fmt::format("{:<8} {:<{}} {}\n", verdict, each.subject, width, each.seen);
    if (!each.advice.empty()) text += fmt::format("{:<8} {:<{}} {}\n", "", "", width, each.advice);
  }
  return text;
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

int execute(const DoctorPlan& plan) {
  const auto longest = plan.server.longest_answer * longest_answers;
  auto findings =
      store::examine(plan.server.spec, plan.key, {base::Deadline::after(base::now(), longest)});
  if (!plan.server.exported) {
    findings.push_back({Finding::Verdict::warn, "choice",
                        "no server was chosen: this is the default",
                        "each host has its own: name one server for all, in RLOCK_SERVER or "
                        "/etc/rlock.conf"});
  }
  const bool fit = std::none_of(findings.begin(), findings.end(), [](const Finding& each) {
    return each.verdict == Finding::Verdict::fail;
  });
  print(plan.json ? findings_as_json(plan.server.shown, findings, fit)
                  : findings_as_table(plan.server.shown, findings));
  return fit ? ExitCode::ok : ExitCode::not_found_here;
}

Act resolve_doctor(const Settings& settings, const std::vector<std::string>& operands) {
  const DoctorPlan plan{resolve_server(settings),
                        operands.empty() ? key_of("KEY", default_key) : only_key(operands),
                        settings.is_on("json")};
  return [plan] { return execute(plan); };
}

}  // namespace

const Command doctor_command{
    "doctor",
    of::doctor,
    "doctor [OPTIONS] [KEY]",
    "is this server fit to hold locks?",
    "Asks the server about itself, and takes and releases KEY (rlock:doctor) as a run\n"
    "would; a lock that somebody holds is not disturbed. What the server does not let\n"
    "us ask is said to be unknown. Exits 0 if it is fit, 1 if something fails.\n"
    "\n"
    "Examples:\n"
    "  rlock doctor\n"
    "  rlock doctor -S redis://lock1/0 --json batch:task:list",
    resolve_doctor};

}  // namespace cmd
