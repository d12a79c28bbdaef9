#include "cmd/check.hpp"

#include "base/duration.hpp"
#include "base/log.hpp"
#include "base/result.hpp"
#include "base/text.hpp"
#include "cmd/fault_report.hpp"
#include "cmd/token_options.hpp"
#include "cmd/values.hpp"

namespace cmd {
namespace {

void declare_check(Settings& settings) {
  declare_token(settings);
  settings.option("--at-least", "DUR", "and still will be for so long (default 0)");
  declare_server_options(settings);
}

std::optional<int> long_enough(const CheckPlan& plan, const store::LockName& name,
                               const store::StillOurs& ours) {
  const auto left = ours.until.left(base::now());
  const std::string key = base::printable(name.text());
  base::log::detail("'{}' is held for {} more", key, base::format_duration(left));
  if (left > base::Millis{0} && left >= plan.at_least) return std::nullopt;
  base::log::error("'{}' is held, but only for {} more", key, base::format_duration(left));
  return ExitCode::lost;
}

int execute(const CheckPlan& plan) {
  return for_each_key(plan.lock, [&](store::LockStore& store, const store::LockName& name,
                                     const os::CallLimit& limit) {
    return base::match(
        store.check(name, plan.lock.token, limit),
        [&](const store::StillOurs& ours) { return long_enough(plan, name, ours); },
        [&](const store::Elsewhere& now) -> std::optional<int> {
          return report_elsewhere(name, now.occupant);
        },
        [&](const store::Fault& fault) -> std::optional<int> {
          return report_fault(plan.lock.server, fault);
        });
  });
}

Act understand_check(const Settings& settings, const std::vector<std::string>& operands) {
  const auto at_least = settings.find("at-least");
  const CheckPlan plan{understand_token(settings, operands),
                       at_least ? duration_in(*at_least) : base::Millis{0}};
  return [plan] { return execute(plan); };
}

}  // namespace

const Command check_command{
    "check",
    "check [OPTIONS] [-k KEY]... [--token TOKEN] [--at-least DUR]",
    "inside a job: ask the server whether the lock is still this job's",
    "Exits 0 if it is, and 76 if it is not (any more), or not for long enough.\n"
    "\n"
    "Examples:\n"
    "  rlock check && ./next-step.sh\n"
    "  rlock check --at-least 10s || exit 1",
    declare_check,
    understand_check};

}  // namespace cmd
