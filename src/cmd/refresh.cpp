#include "cmd/refresh.hpp"

#include "base/result.hpp"
#include "cmd/fault_report.hpp"
#include "cmd/refusal.hpp"
#include "cmd/token_options.hpp"

namespace cmd {
namespace {

void declare_refresh(Settings& settings) {
  declare_token(settings);
  settings.option("-t,--ttl", "DUR", "how long the lock is held from now on; required",
                  Settings::Elsewhere::environment_and_config);
  declare_server_options(settings);
}

int execute(const RefreshPlan& plan) {
  return for_each_key(plan.lock, [&](store::LockStore& store, const store::LockName& name,
                                     const os::CallLimit& limit) {
    return base::match(
        store.renew(name, plan.lock.token, plan.ttl, limit),
        [](const store::Renewed&) -> std::optional<int> { return std::nullopt; },
        [&](const store::NotOurs&) -> std::optional<int> {
          return report_not_ours(plan.lock, store, name, limit);
        },
        [&](const store::Fault& fault) -> std::optional<int> {
          return report_fault(plan.lock.server, fault);
        });
  });
}

Act understand_refresh(const Settings& settings, const std::vector<std::string>& operands) {
  const auto ttl = ttl_in(settings);
  if (!ttl) {
    throw Refusal{ExitCode::usage, "no --ttl given, accepted: how long the lock is held from now"};
  }
  const RefreshPlan plan{understand_token(settings, operands), *ttl};
  require(plan.lock.server, store::Feature::steps, "refresh");
  return [plan] { return execute(plan); };
}

}  // namespace

const Command refresh_command{"refresh",
                              "refresh [OPTIONS] [-k KEY]... [--token TOKEN] --ttl DUR",
                              "hold a lock of `acquire` for longer",
                              "Exits 0, or 76 if the lock is not this token's (any more).\n"
                              "\n"
                              "Examples:\n"
                              "  rlock refresh -k deploy --token \"$token\" --ttl 30m",
                              declare_refresh,
                              understand_refresh};

}  // namespace cmd
