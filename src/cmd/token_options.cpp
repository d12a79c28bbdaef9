#include "cmd/token_options.hpp"

#include <cstdlib>

#include "base/log.hpp"
#include "base/text.hpp"
#include "cmd/fault_report.hpp"
#include "cmd/refusal.hpp"
#include "cmd/values.hpp"
#include "hold/waiting_line.hpp"
#include "store/open.hpp"

namespace cmd {
namespace {

// A step of a pipeline waits no longer than this for a server.
constexpr base::Millis longest_answer{5'000};

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

/// Lines "key=fence", of which the key may hold '=' too.
std::vector<store::LockName> keys_of_fences(const std::string& text) {
  std::vector<store::LockName> keys;
  for (std::size_t begin = 0; begin < text.size();) {
    const auto end = std::min(text.find('\n', begin), text.size());
    const std::string line = text.substr(begin, end - begin);
    keys.push_back(key_in("RLOCK_FENCES", line.substr(0, line.rfind('='))));
    begin = end + 1;
  }
  return keys;
}

std::vector<store::LockName> keys_in(const Settings& settings) {
  std::vector<store::LockName> keys;
  for (const std::string& text : settings.all("key")) keys.push_back(key_in("--key", text));
  if (keys.empty()) {
    if (const auto key = variable("RLOCK_KEY"); !key.empty()) {
      keys.push_back(key_in("RLOCK_KEY", key));
    } else {
      keys = keys_of_fences(variable("RLOCK_FENCES"));
    }
  }
  if (keys.empty()) {
    throw Refusal{ExitCode::usage, "no KEY given, accepted: -k KEY, or RLOCK_KEY as a job has it"};
  }
  return together(std::move(keys));
}

store::Token token_in(const Settings& settings) {
  const auto setting = settings.find("token");
  if (!setting || setting->text.empty()) {
    throw Refusal{ExitCode::usage,
                  "no token given, accepted: --token TOKEN, or RLOCK_TOKEN as a job has it"};
  }
  return store::Token::foreign(setting->text);
}

}  // namespace

void declare_token(Settings& settings) {
  settings.repeated("-k,--key", "KEY", "the lock; default RLOCK_KEY, or all of RLOCK_FENCES");
  settings.option("--token", "TOKEN", "the token that holds it; default RLOCK_TOKEN",
                  Settings::Elsewhere::environment_and_config);
}

TokenPlan understand_token(const Settings& settings, const std::vector<std::string>& operands) {
  if (!operands.empty()) {
    throw not_accepted("KEY", operands.front(), "-k KEY, and no operands");
  }
  return {understand_server_options(settings), keys_in(settings), token_in(settings)};
}

int for_each_key(const TokenPlan& plan, const Step& step) {
  const auto store = store::open(plan.server.spec);
  int code = ExitCode::ok;
  for (const auto& key : plan.keys) {
    const auto failed = step(*store, key, {base::Deadline::after(base::now(), longest_answer)});
    if (failed && code == ExitCode::ok) code = *failed;
  }
  return code;
}

int report_not_ours(const TokenPlan& plan, store::LockStore& store, const store::LockName& name,
                    const os::CallLimit& limit) {
  const auto standing = store.check(name, plan.token, limit);
  if (const auto* fault = std::get_if<store::Fault>(&standing)) {
    return report_fault(plan.server, *fault);
  }
  const auto* elsewhere = std::get_if<store::Elsewhere>(&standing);
  return report_elsewhere(name, elsewhere ? elsewhere->occupant : std::nullopt);
}

int report_elsewhere(const store::LockName& name, const std::optional<store::Holder>& occupant) {
  base::log::error("'{}' is not held by this token (any more): it is {}",
                   base::printable(name.text()), occupant ? hold::describe(occupant) : "free");
  return ExitCode::lost;
}

}  // namespace cmd
