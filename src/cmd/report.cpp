#include "cmd/report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <csignal>

#include "base/duration.hpp"
#include "base/log.hpp"
#include "base/result.hpp"
#include "base/text.hpp"
#include "cmd/claim_options.hpp"
#include "cmd/present.hpp"
#include "hold/progress.hpp"
#include "os/child.hpp"
#include "os/stdio.hpp"
#include "store/backend.hpp"

namespace cmd {
namespace {

// A message repeats the mistaken word, so that the user finds it, but only this much of it.
constexpr std::size_t longest_seen = 100;

std::string quoted(const store::LockName& name) {
  return base::printable(name.text());
}

std::string option_for(const store::Mode& mode) {
  switch (mode.kind) {
    case store::Mode::Kind::exclusive: return "--exclusive";
    case store::Mode::Kind::shared: return "--shared";
    case store::Mode::Kind::permits: break;
  }
  if (mode.names.empty()) return fmt::format("--permits {}", mode.permits);
  return fmt::format("--one-of {}", base::printable(fmt::format("{}", fmt::join(mode.names, ","))));
}

std::string use_of(const store::Mode& mode) {
  return mode.kind == store::Mode::Kind::permits ? "with " + option_for(mode)
                                                 : "as a reader/writer lock";
}

/// The position of a waiter with that many waiters ahead.
std::string shown_position(std::size_t ahead) {
  if (ahead == 0) return "you were next";
  return fmt::format("{} {} ahead of you", ahead, ahead == 1 ? "waiter was" : "waiters were");
}

void report_gave_up(const ClaimPlan& plan, const hold::GaveUp& gave_up) {
  const std::string who = hold::describe(gave_up.holder);
  switch (gave_up.why) {
    case hold::GaveUp::Why::busy:
      base::log::notice("'{}' is {}; to queue for it: --wait 10m, to see more: rlock inspect{} {}",
                        quoted(gave_up.name), who, plan.server.typed, key_to_type(gave_up.name));
      break;
    case hold::GaveUp::Why::timed_out:
      base::log::notice("gave up on '{}' after {}: {}; {}", quoted(gave_up.name),
                        base::format_duration(plan.wait), who, shown_position(gave_up.others));
      break;
    case hold::GaveUp::Why::nested:
      base::log::error(
          "'{}' is {}, the run around this command, which would wait for itself; to run under that "
          "lock: --reentrant, with the server named as there",
          quoted(gave_up.name), who);
      break;
    case hold::GaveUp::Why::crowded:
      base::log::notice("'{}' is {}, and its queue is full ({} waiting, --max-waiters {})",
                        quoted(gave_up.name), who, gave_up.others, plan.max_waiters.value_or(0));
      break;
  }
}

/// Silent in cron, if all is well. A person who typed the command, or pasted it from a crontab with
/// its --quiet, expects a run.
void report_done(const ClaimPlan& plan, const hold::AlreadyDone& found) {
  const auto& outcome = found.done.outcome;
  const bool ended_well = outcome.kind == store::RunOutcome::Kind::exited && outcome.number == 0;
  const bool has_reader = base::log::is_for_people() && os::stderr_is_terminal();
  const auto line =
      fmt::format("'{}' is done for the slot '{}': {}; to run it again, leave out --slot",
                  quoted(found.name), base::printable(plan.slot->id), shown_done(found.done));
  if (has_reader) {
    base::log::error("{}", line);
  } else if (ended_well) {
    base::log::detail("{}", line);
  } else {
    base::log::notice("{}", line);
  }
}

/// The exit code of the run that did the slot.
int shared_code(const store::RunOutcome& outcome) {
  using Kind = store::RunOutcome::Kind;
  switch (outcome.kind) {
    case Kind::exited: return outcome.number;
    case Kind::signalled: return os::ExitStatus::signal_code(outcome.number);
    default: return ExitCode::lost;
  }
}

}  // namespace

UsageError not_accepted(std::string_view source, std::string_view seen, std::string_view expected,
                        ExitCode code) {
  return {code,
          fmt::format("{}: '{}' is not valid; expected {}", source, shown_word(seen), expected)};
}

std::string key_to_type(const store::LockName& key) {
  // A URL in the place of a key: its password must not be repeated.
  if (store::ServerUrl{key.text()}.without_secret() != key.text() &&
      key.text().find("://") != key.text().npos) {
    return "KEY";
  }
  const std::string word = base::shown_shell_word(key.text());
  return key.text().starts_with('-') ? "-- " + word : word;
}

std::string if_pattern(const ServerChoice& server, const store::LockName& key) {
  if (key.text().find_first_of("*?") == std::string::npos) return "";
  return fmt::format("; for all locks that match: rlock list{} {}", server.typed, key_to_type(key));
}

std::string shown_word(std::string_view word) {
  const bool has_url = word.find("://") != word.npos;
  if (has_url) return store::ServerUrl{std::string{word}}.shown(longest_seen);
  return base::printable(word, longest_seen);
}

std::string shown_option(std::string_view word) {
  const auto is_of_name = [](char c) {
    return c == '-' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
  };
  const auto end = std::find_if_not(word.begin(), word.end(), is_of_name);
  return std::string{word.begin(), end} + (end == word.end() ? "" : "…");
}

int report_fault(const ServerChoice& server, const store::Fault& fault) {
  using Kind = store::Fault::Kind;
  base::log::error("{}", server.said_of(fault));
  switch (fault.kind) {
    case Kind::denied: return ExitCode::denied;
    case Kind::misconfigured: return ExitCode::bad_config;
    default: return ExitCode::unreachable;
  }
}

std::string not_whole(const store::Fault& missing) {
  return "this is not all: " + missing.why;
}

int report_gaps(const ServerChoice& server, const store::Listing& listing) {
  say_doubt(listing.doubt);
  if (!listing.missing) return ExitCode::ok;
  return report_fault(server, {listing.missing->kind, not_whole(*listing.missing)});
}

void say_doubt(const std::string& doubt) {
  if (!doubt.empty()) base::log::notice("this may not be all: {}", doubt);
}

void say_granted(const store::Lease& lease, std::string_view verb, base::Moment began,
                 GrantLine line) {
  const auto waited = std::chrono::duration_cast<base::Millis>(base::now() - began);
  base::log::Event event{"granted"};
  event.with("key", lease.name.text())
      .with("fence", static_cast<std::int64_t>(lease.fence))
      .with("waited_ms", waited.count());
  const auto text = fmt::format("{} '{}' after {}, fence {}", verb, quoted(lease.name),
                                base::format_duration(waited), lease.fence);
  line == GrantLine::notice ? event.notice("{}", text) : event.detail("{}", text);
}

int report_not_acquired(const ClaimPlan& plan, const hold::NotAcquired& why) {
  return base::match(
      why,
      [&](const hold::GaveUp& gave_up) -> int {
        report_gave_up(plan, gave_up);
        return plan.conflict_exit_code;
      },
      [&](const hold::Dismissed& dismissed) -> int {
        base::log::notice("left the queue for '{}': {}", quoted(dismissed.name), dismissed.why);
        return plan.conflict_exit_code;
      },
      [&](const hold::Incompatible& disagreement) -> int {
        const auto& [name, conflict] = disagreement;
        base::log::error(
            "'{}' is used {} by {}, but this run says {}; all users of a key must agree",
            quoted(name), use_of(conflict.mode), conflict.token.shown(), option_for(plan.mode));
        return ExitCode::bad_config;
      },
      [&](const hold::AlreadyDone& found) -> int {
        report_done(plan, found);
        return plan.share ? shared_code(found.done.outcome) : ExitCode::ok;
      },
      [&](const hold::Interrupted& interrupted) -> int {
        // A user who pressed ^C needs no message.
        if (interrupted.signal != SIGINT && interrupted.signal != SIGQUIT) {
          base::log::notice("signal {} ended the wait for {}; nothing ran", interrupted.signal,
                            plan.shown_keys());
        }
        return os::ExitStatus::signal_code(interrupted.signal);
      },
      [&](const store::Fault& fault) -> int { return report_fault(plan.server, fault); });
}

}  // namespace cmd
