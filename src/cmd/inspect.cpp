// rlock inspect: who holds a lock, until when, and who waits.
#include "base/log.hpp"
#include "base/text.hpp"
#include "cmd/claim_options.hpp"
#include "cmd/commands.hpp"
#include "cmd/present.hpp"
#include "os/stdio.hpp"
#include "store/backend.hpp"

namespace cmd {
namespace {

struct InspectPlan {
  ServerChoice server;
  store::LockName key;
  bool json;
  bool quiet;
  Look look;
};

int execute(const InspectPlan& plan) {
  const auto admin = store::open_admin(plan.server.spec);
  const auto answer = plan.server.report_on(*admin, plan.key);
  if (!answer) return report_fault(plan.server, answer.error());
  if (plan.quiet) return !answer->holders.empty() ? ExitCode::ok : ExitCode::not_found_here;
  print(plan.json ? as_json(*answer) : as_table(*answer, plan.look));
  const auto hint = answer->holders.empty() ? if_pattern(plan.server, plan.key) : "";
  if (!hint.empty()) {
    base::log::notice("'{}' is a key here{}", base::printable(plan.key.text()), hint);
  }
  return ExitCode::ok;
}

Act resolve_inspect(const Settings& settings, const std::vector<std::string>& operands) {
  const InspectPlan plan{resolve_server(settings), only_key(settings, operands),
                         settings.is_on("json"), settings.on_command_line("quiet"),
                         look_of(settings)};
  return [plan] { return execute(plan); };
}

}  // namespace

const Command inspect_command{
    "inspect",
    of::inspect,
    "inspect [OPTIONS] KEY",
    "show who holds a lock, until when, its fence, and who waits",
    "Exits 0; with --quiet it prints nothing and exits 0 if the lock is held, 1 if it\n"
    "is free.\n"
    "\n"
    "Examples:\n"
    "  rlock inspect deploy\n"
    "  rlock inspect --json deploy | jq -r .holder.host\n"
    "  rlock inspect -q deploy && echo 'a deploy is running'",
    resolve_inspect};

}  // namespace cmd
