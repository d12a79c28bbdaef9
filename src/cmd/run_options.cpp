#include "cmd/run_options.hpp"

#include <charconv>
#include <cstdlib>

#include "base/duration.hpp"
#include "base/text.hpp"
#include "cmd/refusal.hpp"
#include "cmd/values.hpp"

namespace cmd {
namespace {

constexpr auto anywhere = Settings::Elsewhere::environment_and_config;

// Long enough that a restart of the server or a slow minute of the host does not stop a job, short
// enough that a crashed host's job is taken over while somebody still looks at the clock.
constexpr base::Millis default_ttl{30'000};
constexpr base::Millis longest_default_grace{5'000};

store::Ttl ttl_in(const Settings& settings) {
  const auto setting = settings.find("ttl");
  if (!setting) return *store::Ttl::from(default_ttl);
  const auto ttl = store::Ttl::from(duration_in(*setting));
  if (!ttl) throw not_accepted(*setting, "100ms to 365d");
  return *ttl;
}

base::Millis wait_in(const Settings& settings) {
  const auto wait = settings.find("wait");
  if (settings.is_on("nonblock")) {
    if (settings.on_command_line("wait") && wait_in(*wait) != base::Millis{0}) {
      throw Refusal{ExitCode::usage, "--nonblock and --wait contradict each other"};
    }
    return base::Millis{0};
  }
  return wait ? cmd::wait_in(*wait) : base::Millis{0};
}

base::Millis grace_in(const Settings& settings, store::Ttl ttl) {
  const auto setting = settings.find("grace");
  if (!setting) return std::min(longest_default_grace, ttl.length() / 6);
  const base::Millis grace = duration_in(*setting);
  // The stop begins that long before the lease ends; it must not come before two refreshes failed.
  const base::Millis most = ttl.length() / 2;
  if (grace > most) {
    throw not_accepted(*setting,
                       fmt::format("at most half the TTL, {}", base::format_duration(most)));
  }
  return grace;
}

hold::OnLost on_lost_in(const Settings& settings) {
  const auto setting = settings.find("on-lost");
  if (!setting || setting->text == "stop") return hold::OnLost::stop;
  if (setting->text == "warn") return hold::OnLost::warn;
  throw not_accepted(*setting, "stop or warn");
}

int conflict_exit_code_in(const Settings& settings) {
  const auto setting = settings.find("conflict-exit-code");
  if (!setting) return ExitCode::busy;
  int code = -1;
  const char* end = setting->text.data() + setting->text.size();
  const auto [stop, error] = std::from_chars(setting->text.data(), end, code);
  if (error != std::errc{} || stop != end || code < 0 || code > 255) {
    throw not_accepted(*setting, "a number from 0 to 255");
  }
  return code;
}

std::vector<std::string> command_in(const Settings& settings,
                                    const std::vector<std::string>& operands) {
  const auto string = settings.find("c");
  if (!string) {
    if (operands.empty()) {
      throw Refusal{ExitCode::usage, "no COMMAND given, accepted: -k KEY [--] COMMAND [ARG]..."};
    }
    if (operands.front().empty()) {
      throw not_accepted("COMMAND", "", "the name or path of a program");
    }
    return operands;
  }
  if (!operands.empty()) {
    throw not_accepted("COMMAND", operands.front(), "either -c STRING or a COMMAND");
  }
  const char* shell = std::getenv("SHELL");
  return {shell != nullptr && *shell != '\0' ? shell : "/bin/sh", "-c", string->text};
}

store::Label label_in(const Settings& settings, const std::vector<std::string>& command) {
  if (const auto setting = settings.find("label")) {
    auto label = store::Label::from(setting->text);
    if (!label) throw not_accepted(*setting, store::Label::accepted);
    return *std::move(label);
  }
  const std::string& program = command.front();
  return store::Label::tamed(program.substr(program.rfind('/') + 1));
}

}  // namespace

void declare_run(Settings& settings) {
  settings.option("-k,--key", "KEY", "the lock to hold; required");
  settings.option("-t,--ttl", "DUR",
                  "lease length, refreshed every third of it (default 30s, at least 100ms)",
                  anywhere);
  settings.option("-w,--wait", "DUR",
                  "queue for the lock so long; 'forever'; 0 is one attempt (default 0)", anywhere);
  settings.flag("-n,--nonblock", "the same as --wait 0");
  settings.option("-E,--conflict-exit-code", "N",
                  "exit code when the lock was not had (default 75)", anywhere);
  settings.option("--grace", "DUR",
                  "between TERM and KILL when the job is stopped (default min(5s, TTL/6))",
                  anywhere);
  settings.option("--on-lost", "stop|warn", "what a lost lock does to the job (default stop)",
                  anywhere);
  settings.option("--label", "TEXT", "shown to others in place of the command's name", anywhere);
  settings.option("-c", "STRING", "run $SHELL -c STRING in place of COMMAND");
  declare_server_options(settings);
}

RunPlan understand_run(const Settings& settings, const std::vector<std::string>& operands) {
  const auto key = settings.find("key");
  const store::Ttl ttl = ttl_in(settings);
  auto command = command_in(settings, operands);
  auto label = label_in(settings, command);
  return {understand_server_options(settings),
          key_in(key->source, key->text),
          ttl,
          wait_in(settings),
          grace_in(settings, ttl),
          on_lost_in(settings),
          std::move(label),
          conflict_exit_code_in(settings),
          std::move(command)};
}

}  // namespace cmd
