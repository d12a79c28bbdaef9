// rlock force-release: takes a lock from the holder that it shows.
#include <algorithm>
#include <iostream>

#include "base/duration.hpp"
#include "base/log.hpp"
#include "base/text.hpp"
#include "cmd/chosen_holders.hpp"
#include "cmd/claim_options.hpp"
#include "cmd/commands.hpp"
#include "cmd/present.hpp"
#include "hold/progress.hpp"
#include "os/stdio.hpp"
#include "store/backend.hpp"

namespace cmd {
namespace {

struct ForceReleasePlan {
  ServerChoice server;
  store::LockName key;
  std::optional<store::Token> only;
  std::string by;  // who does it, and why
  bool yes;
  base::Millis wait;
  Look look;
};

/// "Take 'd' from root@vm:4215/sh? Its job will be stopped."
std::string question(const store::LockName& name, const Holders& holders) {
  const std::string key = base::printable(name.text());
  const auto& first = holders.front();
  const std::string who = store::Token::foreign(first.holder.token).shown();
  if (holders.size() > 1) {
    return fmt::format("Take '{}' from {} holders? Their jobs will be stopped.", key,
                       holders.size());
  }
  if (is_kept(first.holder)) {
    return fmt::format("Release '{}' before its --min-hold ends? The job of {} has ended.", key,
                       who);
  }
  if (!can_stop(first)) {
    return fmt::format("Take '{}' from {}? It is a foreign client, which will not notice.", key,
                       who);
  }
  if (is_step(store::Token::foreign(first.holder.token))) {
    return fmt::format(
        "Take '{}' from {}? It is a lock of rlock acquire: its steps will go on running.", key,
        who);
  }
  return fmt::format("Take '{}' from {}? Its job will be stopped.", key, who);
}

/// On lines of their own, neither of which is cut by a narrow terminal.
bool said_yes(const std::string& question, const Look& look) {
  print(wrapped(question, 0, look.columns.value_or(help_width)) + "\nType 'yes': ");
  std::string answer;
  std::getline(std::cin, answer);
  return answer == "yes";
}

/// Tells what is known about the former holders.
void report_removed(const ForceReleasePlan& plan, store::LockAdmin& admin, const Holders& holders) {
  std::size_t listening = 0;
  for (const auto& each : holders) {
    print(fmt::format("released '{}', which was {} {}\n", base::printable(plan.key.text()),
                      is_kept(each.holder) ? "kept by --min-hold after the job of" : "held by",
                      store::Token::foreign(each.holder.token).shown()));
    if (is_step(store::Token::foreign(each.holder.token))) {
      print("it is a lock of rlock acquire: what runs under it may still be running\n");
    } else if (can_stop(each)) {
      ++listening;
    } else if (!is_kept(each.holder)) {
      print("the holder is a foreign client, which cannot be told: it may still be running\n");
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
bool has_no_token(const store::HolderReport& one) {
  return one.holder.token.empty();
}

int take_away(const ForceReleasePlan& plan, store::LockAdmin& admin, const Holders& holders) {
  int asked = 0;
  const auto removal = plan.server.ask([&](const os::CallLimit& limit) {
    ++asked;
    return admin.force_release(plan.key, tokens_of(holders), plan.by, limit);
  });
  if (!removal) return report_fault(plan.server, removal.error());
  const auto* changed = std::get_if<store::Changed>(&*removal);
  // Where none of those that were shown has it, our first question may be why.
  if (changed != nullptr && asked == 1) {
    base::log::error("'{}' changed hands while you were asked, and is now {}; nothing was done",
                     base::printable(plan.key.text()),
                     changed->holder ? hold::describe(changed->holder) : "free");
    return ExitCode::busy;
  }
  report_removed(plan, admin, holders);
  return ExitCode::ok;
}

int execute(const ForceReleasePlan& plan) {
  const auto admin = store::open_admin(plan.server.spec);
  auto answer = plan.server.report_on(*admin, plan.key);
  if (!answer) return report_fault(plan.server, answer.error());
  store::LockReport& report = *answer;
  report.holders = chosen_holders(report, plan.only);
  if (report.holders.empty()) return report_not_held(plan.server, plan.key, plan.only);
  if (std::any_of(report.holders.begin(), report.holders.end(), has_no_token)) {
    base::log::error(
        "the value of '{}' is empty or not a string, so it cannot be compared with what you saw; "
        "nothing was done (a foreign client's lock: see it with redis-cli or etcdctl)",
        base::printable(plan.key.text()));
    return ExitCode::busy;
  }
  if (!plan.yes) {
    print(as_table(report, plan.look));
    if (!said_yes(question(plan.key, report.holders), plan.look)) {
      base::log::error("nothing was done: only \"yes\" confirms");
      return ExitCode::not_found_here;
    }
  }
  return take_away(plan, *admin, report.holders);
}

Act resolve_force_release(const Settings& settings, const std::vector<std::string>& operands) {
  const ForceReleasePlan plan{resolve_server(settings), only_key(settings, operands),
                              chosen_token(settings),   who_and_why(settings),
                              settings.is_on("yes"),    duration_of(settings.value("wait")),
                              look_of(settings)};
  if (!plan.yes && !os::stdin_is_terminal()) {
    throw UsageError{ExitCode::usage, "stdin is not a terminal; confirm with --yes"};
  }
  return [plan] { return execute(plan); };
}

}  // namespace

const Command force_release_command{
    "force-release",
    of::force_release,
    "force-release [OPTIONS] KEY",
    "take a lock away from the holder that it shows",
    "Shows the holder and asks. Removes exactly the holder that it showed, tells it\n"
    "at once, so that its rlock stops the job, hands the lock to the queue, and says\n"
    "whether the holder is known to have stopped. Exits 0 if it was removed, 1 if\n"
    "nobody held it or the answer was no, 75 if the lock changed hands meanwhile. A\n"
    "lock that several hold is taken from all that were shown.\n"
    "\n"
    "Examples:\n"
    "  rlock force-release deploy\n"
    "  rlock force-release --yes --wait 30s deploy",
    resolve_force_release};

}  // namespace cmd
