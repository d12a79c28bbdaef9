#include "cmd/list.hpp"

#include "base/log.hpp"
#include "cmd/fault_report.hpp"
#include "cmd/output.hpp"
#include "cmd/plan.hpp"
#include "cmd/present.hpp"
#include "cmd/refusal.hpp"
#include "store/open.hpp"

namespace cmd {
namespace {

// A scan of a large server takes a while: a million keys about a second.
constexpr base::Millis list_answers_within{30'000};

void declare_list(Settings& settings) {
  settings.flag("--json", "one JSON object in place of the table");
  declare_server_options(settings);
}

int execute(const ListPlan& plan) {
  const auto admin = store::open_admin(plan.server.spec);
  const auto answer =
      admin->list(plan.pattern, {base::Deadline::after(base::now(), list_answers_within)});
  if (const auto* fault = std::get_if<store::Fault>(&answer)) {
    return report_fault(plan.server, *fault);
  }
  const auto& reports = std::get<std::vector<store::LockReport>>(answer);
  if (plan.json) {
    print(as_json(reports));
  } else if (reports.empty()) {
    base::log::notice("no lock is held or waited for");
  } else {
    print(as_table(reports));
  }
  return ExitCode::ok;
}

Act understand_list(const Settings& settings, const std::vector<std::string>& operands) {
  if (operands.size() > 1) throw not_accepted("PATTERN", operands[1], "at most one PATTERN");
  const ListPlan plan{understand_server_options(settings), operands.empty() ? "*" : operands[0],
                      settings.is_on("json")};
  return [plan] { return execute(plan); };
}

}  // namespace

const Command list_command{
    "list",
    "list [OPTIONS] [PATTERN]",
    "every lock on the server that an rlock holds or waits for",
    "PATTERN is a glob on the key: * ? [a-z], with \\ before a literal one. It scans all keys of\n"
    "the database, a thousand at a time.\n"
    "\n"
    "Examples:\n"
    "  rlock list\n"
    "  rlock list 'batch:*'\n"
    "  rlock list --json | jq -r '.locks[].key'",
    declare_list,
    understand_list};

}  // namespace cmd
