#include "cmd/inspect.hpp"

#include "cmd/fault_report.hpp"
#include "cmd/holders.hpp"
#include "cmd/output.hpp"
#include "cmd/plan.hpp"
#include "cmd/present.hpp"
#include "cmd/values.hpp"
#include "store/open.hpp"

namespace cmd {
namespace {

void declare_inspect(Settings& settings) {
  settings.flag("--json", "one JSON object in place of the table");
  declare_server_options(settings);
}

int execute(const InspectPlan& plan) {
  const auto admin = store::open_admin(plan.server.spec);
  const auto answer = admin->inspect(plan.key, soon());
  if (const auto* fault = std::get_if<store::Fault>(&answer)) {
    return report_fault(plan.server, *fault);
  }
  const auto& report = std::get<store::LockReport>(answer);
  if (plan.quiet) return !report.holders.empty() ? ExitCode::ok : ExitCode::not_found_here;
  print(plan.json ? as_json(report) : as_table(report));
  return ExitCode::ok;
}

Act understand_inspect(const Settings& settings, const std::vector<std::string>& operands) {
  const InspectPlan plan{understand_server_options(settings), only_key(operands),
                         settings.is_on("json"), settings.on_command_line("quiet")};
  return [plan] { return execute(plan); };
}

}  // namespace

const Command inspect_command{
    "inspect",
    "inspect [OPTIONS] KEY",
    "who holds a lock, since when, until when, its fence, and who waits",
    "Exits 0; with --quiet it prints nothing and exits 0 if the lock is held, 1 if it is free.\n"
    "\n"
    "Examples:\n"
    "  rlock inspect deploy\n"
    "  rlock inspect --json deploy | jq -r .holder.host\n"
    "  rlock inspect -q deploy && echo 'a deploy is running'",
    declare_inspect,
    understand_inspect};

}  // namespace cmd
