// rlock cancel: asks the holders of a lock, or one of its waiters, to stop.
#include <algorithm>

#include "base/duration.hpp"
#include "base/log.hpp"
#include "base/text.hpp"
#include "cmd/chosen_holders.hpp"
#include "cmd/claim_options.hpp"
#include "cmd/commands.hpp"
#include "cmd/present.hpp"
#include "hold/progress.hpp"
#include "os/poll.hpp"
#include "os/stdio.hpp"
#include "store/backend.hpp"

namespace cmd {
namespace {

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
          "rlock force-release{} {}",
          key, token.shown(), plan.server.typed, key_to_type(plan.key));
      continue;
    }
    base::log::error(
        "'{}' is still held by {}, asked {} ago: {}; to take it away: rlock force-release{} {}",
        key, token.shown(), base::format_duration(plan.wait),
        is_step(token) ? "a lock of rlock acquire, which nobody hears for"
                       : "its job has not stopped yet, or its host does not answer",
        plan.server.typed, key_to_type(plan.key));
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
      print(fmt::format("'{}': {} has left the queue\n", key, token.shown()));
      return ExitCode::ok;
    }
    os::wait_any({}, next);  // a server may cut each wait
    if (!until.passed(base::now())) continue;
    base::log::error("'{}': {} still waits, {} after it was asked to leave", key, token.shown(),
                     base::format_duration(plan.wait));
    return ExitCode::busy;
  }
}

/// Dismisses a waiter.
int cancel_waiter(const CancelPlan& plan, store::LockAdmin& admin, const store::Token& token) {
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
  if (holders.empty()) return report_not_held(plan.server, plan.key, plan.only);
  const auto tokens = tokens_of(holders);
  if (std::none_of(holders.begin(), holders.end(), can_stop)) {
    const auto& first = holders.front().holder;
    base::log::error("'{}' is {}; {}; to take it away: rlock force-release{} {}", key,
                     hold::describe(first),
                     is_kept(first) ? "its job has ended" : "only an rlock can be asked to stop",
                     plan.server.typed, key_to_type(plan.key));
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

}  // namespace

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

}  // namespace cmd
