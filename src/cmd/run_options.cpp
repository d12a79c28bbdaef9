#include "cmd/run_options.hpp"

#include <cstdlib>

#include "base/duration.hpp"
#include "base/text.hpp"
#include "cmd/refusal.hpp"
#include "cmd/values.hpp"
#include "os/error.hpp"
#include "os/file.hpp"

namespace cmd {
namespace {

// Long enough that a restart of the server or a slow minute of the host does not stop a job, short
// enough that a crashed host's job is taken over while somebody still looks at the clock.
constexpr base::Millis default_ttl{30'000};
constexpr base::Millis longest_default_grace{5'000};

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

/// Looked at before the lock is taken: a job whose outcome cannot be told should not begin.
std::optional<std::string> status_file_in(const Settings& settings) {
  const auto setting = settings.find("status-file");
  if (!setting) return std::nullopt;
  if (const auto creatable = os::can_create(setting->text); !creatable) {
    throw Refusal{ExitCode::usage,
                  fmt::format("--status-file: cannot write '{}': {}",
                              base::printable(setting->text), creatable.error().text())};
  }
  return setting->text;
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

store::Label label_of(const std::vector<std::string>& command) {
  // A URL in the place of a command may have a password, and the label is for all to see.
  const std::string& word = command.front();
  const bool is_url = word.find("://") != word.npos;
  const std::string program = is_url ? store::without_secret(word) : word;
  return store::Label::tamed(program.substr(program.rfind('/') + 1));
}

}  // namespace

void declare_run(Settings& settings) {
  declare_claim(settings,
                "lease length, refreshed every third of it (default 30s, at least 100ms)");
  settings.option("--min-hold", "DUR",
                  "the lock stays taken so long after the grant, even if the job is quicker",
                  Settings::anywhere);
  settings.flag("--wait-all", "hold the lock until every descendant of the job is gone",
                Settings::anywhere);
  settings.flag("--reentrant", "inside a job that already holds KEY: just run");
  settings.option("--grace", "DUR",
                  "between TERM and KILL when the job is stopped (default min(5s, TTL/6))",
                  Settings::anywhere);
  settings.option("--on-lost", "stop|warn", "what a lost lock does to the job (default stop)",
                  Settings::anywhere);
  settings.option("--status-file", "FILE", "write there as JSON what became of the run");
  settings.option("-c", "STRING", "run $SHELL -c STRING in place of COMMAND");
  declare_server_options(settings);
}

RunPlan understand_run(const Settings& settings, const std::vector<std::string>& operands) {
  const auto ttl = ttl_in(settings).value_or(*store::Ttl::from(default_ttl));
  auto command = command_in(settings, operands);
  const auto min_hold = settings.find("min-hold");
  auto lock = understand_claim(settings, ttl, label_of(command));
  if (min_hold) require(lock.server, store::Feature::min_hold, "--min-hold");
  return {std::move(lock),
          grace_in(settings, ttl),
          on_lost_in(settings),
          min_hold ? duration_in(*min_hold) : base::Millis{0},
          settings.is_on("wait-all"),
          settings.is_on("reentrant"),
          status_file_in(settings),
          std::move(command)};
}

}  // namespace cmd
