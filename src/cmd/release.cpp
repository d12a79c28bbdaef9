#include "cmd/release.hpp"

#include "base/result.hpp"
#include "cmd/fault_report.hpp"
#include "cmd/token_options.hpp"

namespace cmd {
namespace {

void declare_release(Settings& settings) {
  declare_token(settings);
  declare_server_options(settings);
}

int execute(const TokenPlan& plan) {
  return for_each_key(
      plan, [&](store::LockStore& store, const store::LockName& name, const os::CallLimit& limit) {
        return base::match(
            store.release(name, plan.token, {}, limit),
            [](const store::Released&) -> std::optional<int> { return std::nullopt; },
            [&](const store::NotOurs&) -> std::optional<int> {
              return report_not_ours(plan, store, name, limit);
            },
            [&](const store::Fault& fault) -> std::optional<int> {
              return report_fault(plan.server, fault);
            });
      });
}

Act understand_release(const Settings& settings, const std::vector<std::string>& operands) {
  auto plan = understand_token(settings, operands);
  require(plan.server, store::Feature::steps, "release");
  return [plan = std::move(plan)] { return execute(plan); };
}

}  // namespace

const Command release_command{
    "release",
    "release [OPTIONS] [-k KEY]... [--token TOKEN]",
    "give back a lock of `acquire`",
    "Exits 0, or 76 if the lock is not this token's (any more): then it says whose it is, and\n"
    "nothing was changed.\n"
    "\n"
    "Examples:\n"
    "  rlock release -k deploy --token \"$token\"",
    declare_release,
    understand_release};

}  // namespace cmd
