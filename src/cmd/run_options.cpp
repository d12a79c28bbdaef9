// The options of a run, besides those of any claim of a lock.
#include <algorithm>
#include <cerrno>
#include <cstdlib>

#include "base/duration.hpp"
#include "base/text.hpp"
#include "cmd/report.hpp"
#include "cmd/run.hpp"
#include "cmd/slot.hpp"
#include "os/error.hpp"
#include "os/exec.hpp"
#include "os/file.hpp"

namespace cmd {
namespace {

constexpr base::Millis longest_default_grace{5'000};
// A shorter time is as hard to keep as a shorter TTL.
constexpr base::Millis shortest_max_hold = store::Ttl::shortest;

/// The time between TERM and KILL. With a short --max-hold it is shortened, so that the stop does
/// not begin at once.
base::Millis grace_in(const Settings& settings, store::Ttl ttl,
                      const std::optional<base::Millis>& max_hold) {
  const auto setting = settings.find("grace");
  const base::Millis shortest = std::min(ttl.length(), max_hold.value_or(ttl.length()));
  if (!setting) return std::min(longest_default_grace, shortest / 6);
  const base::Millis grace = duration_of(*setting);
  // It must not come before two refreshes failed.
  const base::Millis most = shortest / 2;
  if (grace > most) {
    throw not_accepted(
        *setting,
        fmt::format("at most half {}, {}", shortest < ttl.length() ? "of --max-hold" : "the TTL",
                    most.count() % 1000 == 0 ? base::format_duration(most)
                                             : fmt::format("{}ms", most.count())));
  }
  return grace;
}

std::optional<base::Millis> max_hold_in(const Settings& settings, base::Millis min_hold) {
  const auto setting = settings.find("max-hold");
  if (!setting) return std::nullopt;
  const base::Millis length = duration_of(*setting);
  if (length < shortest_max_hold) {
    throw not_accepted(*setting, base::format_duration(shortest_max_hold) + " or more");
  }
  if (length < min_hold) throw not_accepted(*setting, "no less than --min-hold");
  return length;
}

hold::OnLost on_lost_in(const Settings& settings) {
  const auto setting = settings.value("on-lost");
  if (setting.text == "stop") return hold::OnLost::stop;
  if (setting.text == "warn") return hold::OnLost::warn;
  throw not_accepted(setting, "stop or warn");
}

/// Checked before the lock is taken: a job whose outcome cannot be told should not begin.
std::optional<std::string> status_file_in(const Settings& settings) {
  const auto setting = settings.find("status-file");
  if (!setting) return std::nullopt;
  if (setting->text.empty()) throw not_accepted(*setting, "the path of a file");
  if (const auto creatable = os::can_create(setting->text); !creatable) {
    throw UsageError{ExitCode::usage,
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
      throw UsageError{ExitCode::usage,
                       "no command to run; usage: rlock -k KEY -- COMMAND [ARG]..."};
    }
    if (operands.front().empty()) {
      throw not_accepted("COMMAND", "", "the name or path of a program");
    }
    return operands;
  }
  if (!operands.empty()) {
    throw UsageError{ExitCode::usage, fmt::format("unexpected argument '{}' beside -c STRING",
                                                  shown_word(operands.front()))};
  }
  const char* shell = std::getenv("SHELL");
  return {shell != nullptr && *shell != '\0' ? shell : "/bin/sh", "-c", string->text};
}

/// A run that cannot begin must not stop another before. A run that only waits looks later: the
/// holder may be about to make the program.
void require_program(const std::string& command) {
  const int why = os::why_not_found(command);
  if (why == 0) return;
  throw UsageError{why == ENOENT ? ExitCode::command_not_found : ExitCode::not_executable,
                   fmt::format("cannot run '{}': {}; --supersede stopped nobody for it",
                               shown_word(command), os::describe(why))};
}

store::Label label_of(const std::vector<std::string>& command) {
  // A URL in the place of a command may have a password, and the label is for all to see.
  const std::string& word = command.front();
  const bool is_url = word.find("://") != word.npos;
  const std::string program = is_url ? store::ServerUrl{word}.without_secret() : word;
  return store::Label::tamed(program.substr(program.rfind('/') + 1));
}

}  // namespace

RunPlan resolve_run_plan(const Settings& settings, const std::vector<std::string>& operands) {
  const auto ttl = *ttl_in(settings);
  auto command = command_in(settings, operands);
  const auto kept = settings.find("min-hold");
  const auto min_hold = kept ? duration_of(*kept) : base::Millis{0};
  const auto max_hold = max_hold_in(settings, min_hold);
  auto lock = resolve_claim(settings, ttl, label_of(command));
  if (kept) require(lock.server, store::Feature::min_hold, "--min-hold");
  if (lock.supersede != Supersede::nobody) require_program(command.front());
  lock.slot = slot_in(settings, lock);
  lock.share = settings.is_on("share");
  return {std::move(lock),
          grace_in(settings, ttl, max_hold),
          on_lost_in(settings),
          min_hold,
          max_hold,
          settings.is_on("wait-all"),
          settings.is_on("reentrant"),
          status_file_in(settings),
          std::move(command)};
}

}  // namespace cmd
