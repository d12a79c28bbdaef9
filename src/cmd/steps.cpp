// rlock refresh, release and check: what a step does with a lock that another process acquired.
#include <algorithm>

#include "base/duration.hpp"
#include "base/log.hpp"
#include "base/result.hpp"
#include "base/text.hpp"
#include "cmd/claim_options.hpp"
#include "cmd/commands.hpp"
#include "cmd/log_output.hpp"
#include "cmd/nested.hpp"
#include "hold/progress.hpp"
#include "store/backend.hpp"

namespace cmd {
namespace {

/// Which locks, and the token that proves holding them.
struct StepPlan {
  ServerChoice server;
  std::vector<store::LockName> keys;
  store::Token token;
};

/// Lines "key=fence"; the key may hold '=' too.
std::vector<store::LockName> keys_of_fences(const std::string& text) {
  std::vector<store::LockName> keys;
  for (std::size_t begin = 0; begin < text.size();) {
    const auto end = std::min(text.find('\n', begin), text.size());
    const std::string line = text.substr(begin, end - begin);
    keys.push_back(key_of("RLOCK_FENCES", line.substr(0, line.rfind('='))));
    begin = end + 1;
  }
  return keys;
}

/// -k and the operands, else RLOCK_KEY, else the keys of RLOCK_FENCES.
std::vector<store::LockName> keys_of_step(const Settings& settings,
                                          const std::vector<std::string>& operands) {
  std::vector<store::LockName> keys;
  keys.reserve(operands.size());
  for (const std::string& text : operands) keys.push_back(key_of("KEY", text));
  for (const std::string& text : settings.all("key")) keys.push_back(key_of("--key", text));
  if (keys.empty()) {
    if (const auto key = variable("RLOCK_KEY"); !key.empty()) {
      keys.push_back(key_of("RLOCK_KEY", key));
    } else {
      keys = keys_of_fences(variable("RLOCK_FENCES"));
    }
  }
  if (keys.empty()) {
    throw UsageError{ExitCode::usage, "no KEY given, and RLOCK_KEY is not set"};
  }
  keys = sorted_keys(std::move(keys));
  set_log_keys(keys);
  return keys;
}

/// `key`: one of the keys, for a proposal.
store::Token token_of_step(const Settings& settings, const ServerChoice& server,
                           const store::LockName& key) {
  const auto setting = settings.find("token");
  if (setting && !setting->text.empty()) return store::Token::foreign(setting->text);
  throw UsageError{
      ExitCode::usage,
      fmt::format("no --token given, and RLOCK_TOKEN is not set; to see the holder's token: rlock "
                  "inspect{0} {1}, to take the lock away from any holder: rlock force-release{0} "
                  "{1}",
                  server.typed, key_to_type(key))};
}

StepPlan step_in(const Settings& settings, const std::vector<std::string>& operands) {
  auto server = resolve_server(settings);
  auto keys = keys_of_step(settings, operands);
  auto token = token_of_step(settings, server, keys.front());
  return {std::move(server), std::move(keys), std::move(token)};
}

/// The exit code of one lock that failed (it has been said why), or nothing.
using Failure = std::optional<int>;
using Step = std::function<Failure(store::LockStore&, const store::LockName&)>;

/// Takes `step` for every key, also after one failed; returns the code of the first failure.
int for_each_key(const StepPlan& plan, const Step& step) {
  const auto store = store::open(plan.server.spec);
  int code = ExitCode::ok;
  for (const auto& key : plan.keys) {
    const auto failed = step(*store, key);
    if (failed && code == ExitCode::ok) code = *failed;
  }
  return code;
}

int report_elsewhere(const store::LockName& name, const std::optional<store::Holder>& holder) {
  base::log::error("this token does not, or no longer, hold '{}': it is {}",
                   base::printable(name.text()), holder ? hold::describe(holder) : "free");
  return ExitCode::lost;
}

/// Says whose the lock is, if not the token's.
int report_not_ours(const StepPlan& plan, store::LockStore& store, const store::LockName& name) {
  const auto standing = plan.server.standing_of(store, name, plan.token);
  if (const auto* fault = std::get_if<store::Fault>(&standing)) {
    return report_fault(plan.server, *fault);
  }
  const auto* elsewhere = std::get_if<store::Elsewhere>(&standing);
  return report_elsewhere(name, elsewhere ? elsewhere->holder : std::nullopt);
}

// ---- refresh ----------------------------------------------------------------------------------

int refresh(const StepPlan& plan, store::Ttl ttl) {
  return for_each_key(plan, [&](store::LockStore& store, const store::LockName& name) {
    return base::match(
        plan.server.ask(
            [&](const os::CallLimit& limit) { return store.renew(name, plan.token, ttl, limit); }),
        [](const store::Renewed&) -> Failure { return std::nullopt; },
        [&](const store::NotOurs&) -> Failure { return report_not_ours(plan, store, name); },
        [&](const store::Fault& fault) -> Failure { return report_fault(plan.server, fault); });
  });
}

Act resolve_refresh(const Settings& settings, const std::vector<std::string>& operands) {
  const auto ttl = ttl_in(settings);
  if (!ttl) {
    throw UsageError{ExitCode::usage, "no --ttl given; say how long to hold the lock from now on"};
  }
  auto plan = step_in(settings, operands);
  require(plan.server, store::Feature::steps, "refresh");
  return [plan = std::move(plan), ttl = *ttl] { return refresh(plan, ttl); };
}

// ---- release ----------------------------------------------------------------------------------

int release(const StepPlan& plan, const store::Parting& parting) {
  return for_each_key(plan, [&](store::LockStore& store, const store::LockName& name) {
    int asked = 0;
    return base::match(
        plan.server.ask([&](const os::CallLimit& limit) {
          ++asked;
          return store.release(name, plan.token, parting, limit);
        }),
        [](const store::Released&) -> Failure { return std::nullopt; },
        [&](const store::NotOurs&) -> Failure {
          if (asked > 1) return std::nullopt;  // the first question was heard
          return report_not_ours(plan, store, name);
        },
        [&](const store::Fault& fault) -> Failure { return report_fault(plan.server, fault); });
  });
}

/// A job has the token of its run in its environment, also where a script means that of an
/// `rlock acquire` which failed.
void require_own_token(const Settings& settings, const StepPlan& plan) {
  const auto outer = outer_tokens();
  if (settings.on_command_line("token") ||
      std::find(outer.begin(), outer.end(), plan.token) == outer.end()) {
    return;
  }
  throw UsageError{ExitCode::usage,
                   fmt::format("RLOCK_TOKEN is that of the run around this job, which releases {} "
                               "at its end; to release it now: --token \"$RLOCK_TOKEN\"",
                               key_to_type(plan.keys.front()))};
}

Act resolve_release(const Settings& settings, const std::vector<std::string>& operands) {
  auto plan = step_in(settings, operands);
  require_own_token(settings, plan);
  require(plan.server, store::Feature::steps, "release");
  const store::Parting parting{
      {}, history_in(settings), store::RunEnd{{store::RunOutcome::Kind::released}}};
  return [plan = std::move(plan), parting] { return release(plan, parting); };
}

// ---- check ------------------------------------------------------------------------------------

Failure long_enough(const store::LockName& name, const store::StillOurs& ours,
                    base::Millis at_least) {
  const auto left = ours.until.left(base::now());
  const std::string key = base::printable(name.text());
  base::log::detail("'{}' is held for {} more", key, base::format_duration(left));
  if (left > base::Millis{0} && left >= at_least) return std::nullopt;
  base::log::error("the lease of '{}' ends in {}, too soon for --at-least", key,
                   base::format_duration(left));
  return ExitCode::lost;
}

int check(const StepPlan& plan, base::Millis at_least) {
  return for_each_key(plan, [&](store::LockStore& store, const store::LockName& name) {
    return base::match(
        plan.server.standing_of(store, name, plan.token),
        [&](const store::StillOurs& ours) { return long_enough(name, ours, at_least); },
        [&](const store::Elsewhere& now) -> Failure { return report_elsewhere(name, now.holder); },
        [&](const store::Fault& fault) -> Failure { return report_fault(plan.server, fault); });
  });
}

Act resolve_check(const Settings& settings, const std::vector<std::string>& operands) {
  const auto at_least = settings.value("at-least");
  auto plan = step_in(settings, operands);
  return [plan = std::move(plan), length = duration_of(at_least)] { return check(plan, length); };
}

}  // namespace

const Command refresh_command{"refresh",
                              of::refresh,
                              "refresh [OPTIONS] [KEY]... --ttl DUR",
                              "extend a lock of `rlock acquire`",
                              "Exits 0, or 76 if the token does not, or no longer, hold the lock.\n"
                              "\n"
                              "Examples:\n"
                              "  rlock refresh deploy --token \"$token\" --ttl 30m",
                              resolve_refresh};

const Command release_command{
    "release",
    of::release,
    "release [OPTIONS] [KEY]...",
    "release a lock of `rlock acquire`",
    "Exits 0, or 76 if the token does not, or no longer, hold the lock; then it names\n"
    "the holder and changes nothing.\n"
    "\n"
    "Examples:\n"
    "  rlock release deploy --token \"$token\"",
    resolve_release};

const Command check_command{"check",
                            of::check,
                            "check [OPTIONS] [KEY]...",
                            "inside a job: ask the server whether you still hold the lock",
                            "Exits 0 if you do, and 76 if you do not, or not for long enough.\n"
                            "\n"
                            "Examples:\n"
                            "  rlock check && ./next-step.sh\n"
                            "  rlock check --at-least 10s || exit 1",
                            resolve_check};

}  // namespace cmd
