#include "cmd/force_release.hpp"

#include <iostream>

#include "base/duration.hpp"
#include "base/log.hpp"
#include "base/result.hpp"
#include "base/text.hpp"
#include "cmd/fault_report.hpp"
#include "cmd/holders.hpp"
#include "cmd/output.hpp"
#include "cmd/plan.hpp"
#include "cmd/present.hpp"
#include "cmd/refusal.hpp"
#include "cmd/values.hpp"
#include "hold/waiting_line.hpp"
#include "os/stdio.hpp"
#include "store/open.hpp"

namespace cmd {
namespace {

// A job that was told to stop has its grace, 5 s unless somebody asked for more, and then is
// killed.
constexpr base::Millis default_wait{10'000};

void declare_force_release(Settings& settings) {
  settings.flag("-y,--yes", "do not ask; required where there is no terminal");
  settings.option("--wait", "DUR",
                  "how long to wait for the holder's word that its job has stopped (default 10s)");
  settings.option("--token", "TOKEN", "of several holders, only the one with this token");
  declare_server_options(settings);
}

bool said_yes() {
  print("Only 'yes' takes the lock away: ");
  std::string answer;
  std::getline(std::cin, answer);
  return answer == "yes";
}

/// What became of the holders, as far as anybody can know.
void report_removed(const ForceReleasePlan& plan, store::LockAdmin& admin,
                    const std::vector<store::Token>& tokens) {
  std::size_t listening = 0;
  for (const auto& token : tokens) {
    print(fmt::format("released '{}', which was held by {}\n", base::printable(plan.key.text()),
                      token.shown()));
    if (token.holder()) {
      ++listening;
    } else {
      print("the holder is a foreign client, which nobody could tell: it may still be running\n");
    }
  }
  const os::CallLimit limit{base::Deadline::after(base::now(), plan.wait)};
  for (std::size_t heard = 0; heard < listening; ++heard) {
    if (admin.await_last_word(plan.key, limit) == store::LastWord::stopped) {
      print("the holder's job has stopped\n");
    } else {
      print(fmt::format("the holder said nothing within {}: its job may still be running\n",
                        base::format_duration(plan.wait)));
    }
  }
}

/// An empty value and one that is no string cannot be told apart, nor compared with what was shown.
bool nameless(const store::HolderReport& holder) {
  return holder.occupant.token.empty();
}

int take_away(const ForceReleasePlan& plan, store::LockAdmin& admin,
              const std::vector<store::Token>& tokens) {
  return base::match(
      admin.force_release(plan.key, tokens, ourselves(), soon()),
      [&](const store::Removed&) -> int {
        report_removed(plan, admin, tokens);
        return ExitCode::ok;
      },
      [&](const store::Changed& changed) -> int {
        base::log::error("'{}' has changed hands meanwhile and is now {}; nothing was changed",
                         base::printable(plan.key.text()),
                         changed.occupant ? hold::describe(changed.occupant) : "free");
        return ExitCode::busy;
      },
      [&](const store::Fault& fault) { return report_fault(plan.server, fault); });
}

int execute(const ForceReleasePlan& plan) {
  const auto admin = store::open_admin(plan.server.spec);
  const auto answer = admin->inspect(plan.key, soon());
  if (const auto* fault = std::get_if<store::Fault>(&answer)) {
    return report_fault(plan.server, *fault);
  }
  auto report = std::get<store::LockReport>(answer);
  report.holders = chosen_holders(report, plan.only);
  if (report.holders.empty()) return report_nobody(plan.key, plan.only);
  if (std::any_of(report.holders.begin(), report.holders.end(), nameless)) {
    base::log::error(
        "'{}' has a value that is empty or no string, so it cannot be compared with what you "
        "saw; nothing was changed (a foreign client's lock: see TYPE in redis-cli)",
        base::printable(plan.key.text()));
    return ExitCode::busy;
  }
  if (!plan.yes) {
    print(as_table(report));
    if (!said_yes()) {
      base::log::error("nothing was changed");
      return ExitCode::not_found_here;
    }
  }
  return take_away(plan, *admin, tokens_of(report.holders));
}

Act understand_force_release(const Settings& settings, const std::vector<std::string>& operands) {
  const auto wait = settings.find("wait");
  const ForceReleasePlan plan{understand_server_options(settings), only_key(operands),
                              token_in(settings), settings.is_on("yes"),
                              wait ? duration_in(*wait) : default_wait};
  if (!plan.yes && !os::stdin_is_terminal()) {
    throw Refusal{ExitCode::usage,
                  "force-release asks before it acts, and there is no terminal; accepted: --yes"};
  }
  return [plan] { return execute(plan); };
}

}  // namespace

const Command force_release_command{
    "force-release",
    "force-release [OPTIONS] KEY",
    "take the lock away from the holder that is shown",
    "Shows the holder and asks. Removes exactly the holder that it showed, tells it at once, so\n"
    "that its rlock stops the job, hands the lock to the queue, and says whether the holder is\n"
    "known to have stopped. Exits 0 if it was removed, 1 if nobody held it or the answer was no,\n"
    "75 if the lock changed hands meanwhile. A lock that several hold is taken from all that were\n"
    "shown.\n"
    "\n"
    "Examples:\n"
    "  rlock force-release deploy\n"
    "  rlock force-release --yes --wait 30s deploy",
    declare_force_release,
    understand_force_release};

}  // namespace cmd
