#include "cmd/not_had_report.hpp"

#include <fmt/format.h>

#include "base/duration.hpp"
#include "base/log.hpp"
#include "base/result.hpp"
#include "base/text.hpp"
#include "cmd/fault_report.hpp"
#include "hold/waiting_line.hpp"
#include "os/child.hpp"

namespace cmd {
namespace {

std::string quoted(const store::LockName& name) {
  return base::printable(name.text());
}

std::string option_of(const store::Mode& mode) {
  switch (mode.kind) {
    case store::Mode::Kind::exclusive: return "--exclusive";
    case store::Mode::Kind::shared: return "--shared";
    case store::Mode::Kind::permits: break;
  }
  return fmt::format("--permits {}", mode.permits);
}

std::string use_of(const store::Mode& mode) {
  return mode.kind == store::Mode::Kind::permits ? "with " + option_of(mode)
                                                 : "as a reader/writer lock";
}

void report(const ClaimPlan& plan, const hold::GaveUp& gave_up) {
  const std::string who = hold::describe(gave_up.occupant);
  switch (gave_up.why) {
    case hold::GaveUp::Why::busy:
      base::log::notice("'{}' is {}; to queue for it: --wait 10m, to see more: rlock inspect {}",
                        quoted(gave_up.name), who,
                        base::printable(base::shell_word(gave_up.name.text())));
      break;
    case hold::GaveUp::Why::timed_out:
      base::log::notice("'{}' was not free within {}: {}, {} waiting before this one",
                        quoted(gave_up.name), base::format_duration(plan.wait), who,
                        gave_up.others);
      break;
    case hold::GaveUp::Why::crowded:
      base::log::notice("'{}' is {}, and {} wait already: no more than --max-waiters allows",
                        quoted(gave_up.name), who, gave_up.others);
      break;
  }
}

}  // namespace

int report_not_had(const ClaimPlan& plan, const hold::NotAcquired& why) {
  return base::match(
      why,
      [&](const hold::GaveUp& gave_up) -> int {
        report(plan, gave_up);
        return plan.conflict_exit_code;
      },
      [&](const hold::Dismissed& sent_away) -> int {
        base::log::notice("waiting for '{}' was {}", quoted(sent_away.name), sent_away.why);
        return plan.conflict_exit_code;
      },
      [&](const hold::Disagreement& disagreement) -> int {
        const auto& [name, mismatch] = disagreement;
        base::log::error("'{}' is used {} by {}, this run says {}; all users of a key must agree",
                         quoted(name), use_of(mismatch.mode), mismatch.token.shown(),
                         option_of(plan.mode));
        return ExitCode::bad_config;
      },
      [&](const hold::Interrupted& interrupted) -> int {
        return os::ExitStatus::signal_code(interrupted.signal);
      },
      [&](const store::Fault& fault) -> int { return report_fault(plan.server, fault); });
}

}  // namespace cmd
