#include "cmd/nested.hpp"

#include "base/log.hpp"
#include "base/match.hpp"
#include "base/text.hpp"
#include "cmd/fault_report.hpp"
#include "hold/waiting_line.hpp"

namespace cmd {
namespace {

constexpr base::Millis patience{5'000};

}  // namespace

OuterLocks outer_locks(const ClaimPlan& plan) {
  const auto holds = hold::outer_holds();
  OuterLocks found{};
  for (const auto& key : plan.keys) {
    // The innermost run that holds it comes last.
    const auto match = std::find_if(holds.rbegin(), holds.rend(), [&](const auto& each) {
      return each.key == base::printable(key.text()) && each.server == plan.server.shown;
    });
    if (match == holds.rend()) continue;
    found.holds.push_back(*match);
    found.keys.push_back(key);
  }
  found.all = found.keys.size() == plan.keys.size();
  return found;
}

std::optional<int> verify(const OuterLocks& outer, const ClaimPlan& plan) {
  const auto store = plan.open_store();
  const os::Patience soon{base::Deadline::after(base::now(), patience)};
  for (std::size_t i = 0; i < outer.keys.size(); ++i) {
    auto code = base::match(
        store->check(outer.keys[i], outer.holds[i].token, soon),
        [](const store::StillOurs&) -> std::optional<int> { return std::nullopt; },
        [&](const store::Elsewhere& now) -> std::optional<int> {
          base::log::error("'{}' is not held by {}, the run around this one, any more: it is {}",
                           base::printable(outer.keys[i].text()), outer.holds[i].token.shown(),
                           now.occupant ? hold::describe(now.occupant) : "free");
          return ExitCode::lost;
        },
        [&](const store::Fault& fault) -> std::optional<int> {
          return report_fault(plan.server, fault);
        });
    if (code) return code;
  }
  return std::nullopt;
}

void report_nested(const OuterLocks& outer) {
  base::log::error(
      "'{}' is held by {}, the run that this command is part of; it would wait for itself (to run "
      "under that lock: --reentrant)",
      base::printable(outer.keys.front().text()), outer.holds.front().token.shown());
}

}  // namespace cmd
