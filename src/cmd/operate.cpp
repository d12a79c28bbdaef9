// What operators do with a lock: rlock inspect, cancel and force-release.
#include <algorithm>
#include <iostream>

#include "base/duration.hpp"
#include "base/log.hpp"
#include "base/result.hpp"
#include "base/text.hpp"
#include "cmd/claim_options.hpp"
#include "cmd/commands.hpp"
#include "cmd/present.hpp"
#include "hold/progress.hpp"
#include "os/host.hpp"
#include "os/poll.hpp"
#include "os/stdio.hpp"
#include "store/backend.hpp"

namespace cmd {
namespace {

using Holders = std::vector<store::HolderReport>;
using Tokens = std::vector<store::Token>;

// ---- inspect ----------------------------------------------------------------------------------

struct InspectPlan {
  ServerChoice server;
  store::LockName key;
  bool json;
  bool quiet;
  Look look;
};

int execute(const InspectPlan& plan) {
  const auto admin = store::open_admin(plan.server.spec);
  const auto answer = plan.server.report_on(*admin, plan.key);
  if (!answer) return report_fault(plan.server, answer.error());
  if (plan.quiet) return !answer->holders.empty() ? ExitCode::ok : ExitCode::not_found_here;
  print(plan.json ? as_json(*answer) : as_table(*answer, plan.look));
  return ExitCode::ok;
}

Act resolve_inspect(const Settings& settings, const std::vector<std::string>& operands) {
  const InspectPlan plan{resolve_server(settings), only_key(settings, operands),
                         settings.is_on("json"), settings.on_command_line("quiet"),
                         look_of(settings)};
  return [plan] { return execute(plan); };
}

// ---- what cancel and force-release share -------------------------------------------------------

std::optional<store::Token> chosen_token(const Settings& settings) {
  const auto setting = settings.find("token");
  if (!setting) return std::nullopt;
  return store::Token::foreign(setting->text);
}

/// All holders, or only the one that `only` names.
Holders chosen_holders(const store::LockReport& report, const std::optional<store::Token>& only) {
  Holders chosen = report.holders;
  std::erase_if(chosen,
                [&](const auto& each) { return only && each.holder.token != only->text(); });
  return chosen;
}

Tokens tokens_of(const Holders& holders) {
  Tokens tokens;
  tokens.reserve(holders.size());
  for (const auto& each : holders) tokens.push_back(store::Token::foreign(each.holder.token));
  return tokens;
}

bool is_kept(const store::Holder& holder) {
  return holder.kind == store::Holder::Kind::kept;
}

/// Whether it may have a job, and an rlock that hears of us.
bool can_stop(const store::HolderReport& one) {
  return !is_kept(one.holder) && store::Token::foreign(one.holder.token).parts();
}

/// Whether it looks like the lock of an `rlock acquire`, which runs no job and has ended.
bool is_step(const store::Token& token) {
  const auto parts = token.parts();
  return parts && parts->label == acquire_label;
}

int report_not_held(const store::LockName& name, const std::optional<store::Token>& only) {
  base::log::error("nobody holds '{}'{}", base::printable(name.text()),
                   only ? " with that token" : "");
  return ExitCode::not_found_here;
}

/// "app@web1", or "app@web1: the database moves": who asks and why, for the holder to read.
std::string who_and_why(const Settings& settings) {
  const std::string who = os::user_name() + '@' + os::host_name();
  const std::string reason = reason_in(settings);
  return reason.empty() ? who : who + ": " + reason;
}

// ---- cancel -----------------------------------------------------------------------------------

struct CancelPlan {
  ServerChoice server;
  store::LockName key;
  std::optional<store::Token> only;
  std::string by;  // who asks, and why
  base::Millis wait;
  bool waits_for_steps;  // it was said how long to wait
};

// A running job's rlock has heard by then: it listens from its first second on.
constexpr base::Millis heard_by{2'000};
// Between two looks at who holds it: a holder that released by itself sends no word.
constexpr base::Millis look_again{500};

bool holds(const store::LockReport& report, const store::Token& token) {
  return std::any_of(report.holders.begin(), report.holders.end(),
                     [&](const auto& each) { return each.holder.token == token.text(); });
}

bool waits(const store::LockReport& report, const store::Token& token) {
  return std::any_of(report.waiters.begin(), report.waiters.end(),
                     [&](const auto& each) { return each.token == token; });
}

/// Those of `asked` that still hold the lock or wait for it, as far as the server answers.
Tokens still_there(const CancelPlan& plan, store::LockAdmin& admin, Tokens asked) {
  const auto answer = plan.server.report_on(admin, plan.key);
  if (!answer) return asked;
  std::erase_if(asked, [&](const store::Token& token) {
    return !holds(*answer, token) && !waits(*answer, token);
  });
  return asked;
}

int wait_for_release(const CancelPlan& plan, store::LockAdmin& admin, const Tokens& asked) {
  const std::string key = base::printable(plan.key.text());
  const auto until = base::Deadline::after(base::now(), plan.wait);
  const auto is_deaf = [](const Tokens& all) {
    return std::all_of(all.begin(), all.end(), is_step);
  };
  const bool deaf = is_deaf(asked);
  auto say_at = base::Deadline::after(base::now(), deaf ? base::Millis{0} : heard_by);
  Tokens left = asked;
  while (plan.waits_for_steps || !is_deaf(left)) {
    const auto next = std::min(until, base::Deadline::after(base::now(), look_again));
    const bool word = admin.await_last_word(plan.key, {next}) == store::LastWord::stopped;
    const auto now_left = still_there(plan, admin, left);
    for (const auto& token : left) {
      if (std::find(now_left.begin(), now_left.end(), token) != now_left.end()) continue;
      print(fmt::format("'{}': {} has {}\n", key, token.shown(),
                        word ? "stopped its job and released" : "released"));
    }
    const bool nobody_went = now_left.size() == left.size();
    left = now_left;
    if (left.empty()) return ExitCode::ok;
    // A server may cut each wait.
    if (nobody_went) os::wait_any({}, next);
    if (until.passed(base::now())) break;
    if (!say_at.passed(base::now())) continue;
    say_at = base::Deadline::never();
    base::log::notice("'{}': waiting up to {} for {} to {}", key, base::format_duration(plan.wait),
                      left.front().shown(),
                      deaf ? "be released; rlock acquire left nobody behind who hears of this"
                           : "stop its job and release it");
  }
  for (const auto& token : left) {
    if (is_step(token) && !plan.waits_for_steps) {
      base::log::error(
          "'{}' is held by {}, a lock of rlock acquire: nobody is there to hear of this, and it "
          "ends with rlock release or with its TTL; to wait for that: --wait 10m, to take it away: "
          "rlock force-release {}",
          key, token.shown(), key_to_type(plan.key));
      continue;
    }
    base::log::error(
        "'{}' is still held by {}, asked {} ago: its job has not stopped yet, or nobody is there "
        "to hear it, as with a lock of rlock acquire; to take it away: rlock force-release {}",
        key, token.shown(), base::format_duration(plan.wait), key_to_type(plan.key));
  }
  return ExitCode::busy;
}

/// Waits until `token`, which waited for the lock when it was asked, is gone.
int wait_for_departure(const CancelPlan& plan, store::LockAdmin& admin, const store::Token& token) {
  const std::string key = base::printable(plan.key.text());
  const auto until = base::Deadline::after(base::now(), plan.wait);
  for (;;) {
    const auto next = std::min(until, base::Deadline::after(base::now(), look_again));
    (void)admin.await_last_word(plan.key, {next});
    if (still_there(plan, admin, {token}).empty()) {
      print(fmt::format("'{}': {} waits no more\n", key, token.shown()));
      return ExitCode::ok;
    }
    os::wait_any({}, next);  // a server may cut each wait
    if (!until.passed(base::now())) continue;
    base::log::error("'{}': {} still waits, {} after it was asked to go", key, token.shown(),
                     base::format_duration(plan.wait));
    return ExitCode::busy;
  }
}

/// Sends away one that waits for the lock.
int cancel_waiter(const CancelPlan& plan, store::LockAdmin& admin, const store::Token& token) {
  if (!store::can(plan.server.spec, store::Feature::tell_waiters)) {
    base::log::error(
        "'{}': {} waits for it, and on {} a waiter cannot be told to go; nothing was changed",
        base::printable(plan.key.text()), token.shown(), plan.server.shown);
    return ExitCode::busy;
  }
  const auto asked = plan.server.ask([&](const os::CallLimit& limit) {
    return admin.ask_to_stop(plan.key, {token}, "cancelled by " + plan.by, limit);
  });
  if (!asked) return report_fault(plan.server, asked.error());
  return wait_for_departure(plan, admin, token);
}

int execute(const CancelPlan& plan) {
  const std::string key = base::printable(plan.key.text());
  const auto admin = store::open_admin(plan.server.spec);
  const auto answer = plan.server.report_on(*admin, plan.key);
  if (!answer) return report_fault(plan.server, answer.error());
  const auto holders = chosen_holders(*answer, plan.only);
  if (holders.empty() && plan.only && waits(*answer, *plan.only)) {
    return cancel_waiter(plan, *admin, *plan.only);
  }
  if (holders.empty() && plan.only && !store::can(plan.server.spec, store::Feature::tell_waiters)) {
    base::log::error(
        "nobody holds '{}' with that token, and on {} a waiter cannot be told to go; "
        "nothing was changed",
        key, plan.server.shown);
    return ExitCode::not_found_here;
  }
  if (holders.empty()) return report_not_held(plan.key, plan.only);
  const auto tokens = tokens_of(holders);
  if (std::none_of(holders.begin(), holders.end(), can_stop)) {
    const auto& first = holders.front().holder;
    base::log::error(
        "'{}' is {}; {}; to take it away: rlock force-release {}", key, hold::describe(first),
        is_kept(first) ? "no job runs under it any more" : "only an rlock can be asked to stop",
        key_to_type(plan.key));
    return ExitCode::busy;
  }
  const auto asked = plan.server.ask([&](const os::CallLimit& limit) {
    return admin->ask_to_stop(plan.key, tokens, "cancelled by " + plan.by, limit);
  });
  if (!asked) return report_fault(plan.server, asked.error());
  return wait_for_release(plan, *admin, tokens);
}

Act resolve_cancel(const Settings& settings, const std::vector<std::string>& operands) {
  const CancelPlan plan{resolve_server(settings),
                        only_key(settings, operands),
                        chosen_token(settings),
                        who_and_why(settings),
                        duration_of(settings.value("wait")),
                        settings.on_command_line("wait")};
  return [plan] { return execute(plan); };
}

// ---- force-release ----------------------------------------------------------------------------

struct ForceReleasePlan {
  ServerChoice server;
  store::LockName key;
  std::optional<store::Token> only;
  std::string by;  // who does it, and why
  bool yes;
  base::Millis wait;
  Look look;
};

/// "Take 'd' from root@vm:4215/sh? Its job will be stopped. Type 'yes': "
std::string question(const store::LockName& name, const Holders& holders) {
  const std::string key = base::printable(name.text());
  const auto& first = holders.front();
  const std::string who = store::Token::foreign(first.holder.token).shown();
  if (holders.size() > 1) {
    return fmt::format("Take '{}' from {} holders? Their jobs will be stopped. Type 'yes': ", key,
                       holders.size());
  }
  if (is_kept(first.holder)) {
    return fmt::format(
        "Release '{}' before its --min-hold ends? The job of {} has ended. "
        "Type 'yes': ",
        key, who);
  }
  if (!can_stop(first)) {
    return fmt::format(
        "Take '{}' from {}? It is a foreign client, which will not notice. "
        "Type 'yes': ",
        key, who);
  }
  if (is_step(store::Token::foreign(first.holder.token))) {
    return fmt::format(
        "Take '{}' from {}? It is a lock of rlock acquire: nobody stops what runs under it. "
        "Type 'yes': ",
        key, who);
  }
  return fmt::format("Take '{}' from {}? Its job will be stopped. Type 'yes': ", key, who);
}

bool said_yes(const std::string& question) {
  print(question);
  std::string answer;
  std::getline(std::cin, answer);
  return answer == "yes";
}

/// What became of the holders, as far as that can be known.
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
    base::log::error("'{}' changed hands meanwhile and is now {}; nothing was done",
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
  if (report.holders.empty()) return report_not_held(plan.key, plan.only);
  if (std::any_of(report.holders.begin(), report.holders.end(), has_no_token)) {
    base::log::error(
        "the value of '{}' is empty or not a string, so it cannot be compared with what you saw; "
        "nothing was done (a foreign client's lock: see TYPE in redis-cli)",
        base::printable(plan.key.text()));
    return ExitCode::busy;
  }
  if (!plan.yes) {
    print(as_table(report, plan.look));
    if (!said_yes(question(plan.key, report.holders))) {
      base::log::error("nothing was done");
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

const Command inspect_command{
    "inspect",
    of::inspect,
    "inspect [OPTIONS] KEY",
    "show who holds a lock, until when, its fence, and who waits",
    "Exits 0; with --quiet it prints nothing and exits 0 if the lock is held, 1 if it\n"
    "is free.\n"
    "\n"
    "Examples:\n"
    "  rlock inspect deploy\n"
    "  rlock inspect --json deploy | jq -r .holder.host\n"
    "  rlock inspect -q deploy && echo 'a deploy is running'",
    resolve_inspect};

const Command cancel_command{
    "cancel",
    of::cancel,
    "cancel [OPTIONS] KEY",
    "ask the holder to stop its job and release the lock",
    "The holder's rlock stops the job, releases the lock and exits 76 with a line\n"
    "that says who asked. cancel waits for that and exits 0. It exits 1 if nobody\n"
    "holds the lock, 75 if the lock is still held when the wait ends or if the holder\n"
    "is a foreign client, which cannot be asked. With the --token of a waiter, cancel\n"
    "sends that waiter away and leaves the holder alone.\n"
    "\n"
    "Examples:\n"
    "  rlock cancel deploy\n"
    "  rlock cancel --reason 'wrong branch' deploy\n"
    "  rlock cancel --wait 1m deploy && rlock -k deploy -- make deploy",
    resolve_cancel};

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
