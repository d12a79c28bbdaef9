#include "cmd/cancel.hpp"

#include "base/duration.hpp"
#include "base/log.hpp"
#include "base/text.hpp"
#include "cmd/fault_report.hpp"
#include "cmd/holders.hpp"
#include "cmd/output.hpp"
#include "cmd/plan.hpp"
#include "cmd/values.hpp"
#include "hold/waiting_line.hpp"
#include "store/open.hpp"

namespace cmd {
namespace {

// A job that was asked to stop has its grace, 5 s unless somebody asked for more, and then is
// killed.
constexpr base::Millis default_wait{10'000};
// Between two looks at who holds it: one that released by itself sends no word.
constexpr base::Millis look_again{500};

void declare_cancel(Settings& settings) {
  settings.option("--wait", "DUR", "how long to wait until it is released (default 10s)");
  settings.option("--token", "TOKEN", "of several holders, only the one with this token");
  declare_server_options(settings);
}

/// Those of `asked` that hold the lock still, as far as the server answers.
std::vector<store::Token> still_holding(store::LockAdmin& admin, const store::LockName& name,
                                        std::vector<store::Token> asked) {
  const auto answer = admin.inspect(name, soon());
  const auto* report = std::get_if<store::LockReport>(&answer);
  if (report == nullptr) return asked;
  std::erase_if(asked, [&](const store::Token& token) {
    return std::none_of(report->holders.begin(), report->holders.end(),
                        [&](const auto& each) { return each.occupant.token == token.text(); });
  });
  return asked;
}

int wait_for_release(const CancelPlan& plan, store::LockAdmin& admin,
                     const std::vector<store::Token>& asked) {
  const std::string key = base::printable(plan.key.text());
  const auto until = base::Deadline::after(base::now(), plan.wait);
  std::vector<store::Token> left = asked;
  while (true) {
    const auto next = std::min(until, base::Deadline::after(base::now(), look_again));
    const bool word = admin.await_last_word(plan.key, {next}) == store::LastWord::stopped;
    const auto now_left = still_holding(admin, plan.key, left);
    for (const auto& token : left) {
      if (std::find(now_left.begin(), now_left.end(), token) != now_left.end()) continue;
      print(fmt::format("'{}': {} has {}\n", key, token.shown(),
                        word ? "stopped its job and released" : "released"));
    }
    left = now_left;
    if (left.empty()) return ExitCode::ok;
    if (until.passed(base::now())) break;
  }
  for (const auto& token : left) {
    base::log::error(
        "'{}' is still held by {}, which was asked {} ago; to take it away: "
        "rlock force-release {}",
        key, token.shown(), base::format_duration(plan.wait),
        base::printable(base::shell_word(plan.key.text())));
  }
  return ExitCode::busy;
}

int execute(const CancelPlan& plan) {
  const std::string key = base::printable(plan.key.text());
  const auto admin = store::open_admin(plan.server.spec);
  const auto answer = admin->inspect(plan.key, soon());
  if (const auto* fault = std::get_if<store::Fault>(&answer)) {
    return report_fault(plan.server, *fault);
  }
  const auto holders = chosen_holders(std::get<store::LockReport>(answer), plan.only);
  if (holders.empty()) return report_nobody(plan.key, plan.only);
  const auto tokens = tokens_of(holders);
  const bool any_rlock = std::any_of(tokens.begin(), tokens.end(),
                                     [](const auto& token) { return token.holder().has_value(); });
  if (!any_rlock) {
    base::log::error("'{}' is {}; only an rlock can be asked to stop", key,
                     hold::describe(holders.front().occupant));
    return ExitCode::busy;
  }
  const auto asked = admin->ask_to_stop(plan.key, tokens, "cancelled by " + ourselves(), soon());
  if (const auto* fault = std::get_if<store::Fault>(&asked)) {
    return report_fault(plan.server, *fault);
  }
  return wait_for_release(plan, *admin, tokens);
}

Act understand_cancel(const Settings& settings, const std::vector<std::string>& operands) {
  const auto wait = settings.find("wait");
  const CancelPlan plan{understand_server_options(settings), only_key(operands), token_in(settings),
                        wait ? duration_in(*wait) : default_wait};
  return [plan] { return execute(plan); };
}

}  // namespace

const Command cancel_command{
    "cancel",
    "cancel [OPTIONS] KEY",
    "ask the holder to stop its job and to release",
    "The holder's rlock stops the job as it would for a lost lock, releases, and exits 76 with a\n"
    "line that says who asked. Waits for that and exits 0; 1 if nobody holds the lock; 75 if it\n"
    "is still held when the wait ends, or the holder is a foreign client, which cannot be asked.\n"
    "\n"
    "Examples:\n"
    "  rlock cancel deploy\n"
    "  rlock cancel --wait 1m deploy && rlock -k deploy -- make deploy",
    declare_cancel,
    understand_cancel};

}  // namespace cmd
