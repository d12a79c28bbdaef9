#include "cmd/nested.hpp"

#include "base/log.hpp"
#include "base/text.hpp"
#include "hold/progress.hpp"

namespace cmd {

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

std::vector<store::Token> outer_tokens() {
  std::vector<store::Token> tokens;
  for (const auto& each : hold::outer_holds()) tokens.push_back(each.token);
  return tokens;
}

std::variant<std::vector<store::Lease>, int> verify(const OuterLocks& outer,
                                                    const ClaimPlan& plan) {
  const auto store = plan.open_store();
  std::vector<store::Lease> leases;
  for (std::size_t i = 0; i < outer.keys.size(); ++i) {
    const auto& key = outer.keys[i];
    const auto& token = outer.holds[i].token;
    const auto standing = plan.server.standing_of(*store, key, token);
    if (const auto* fault = std::get_if<store::Fault>(&standing)) {
      return report_fault(plan.server, *fault);
    }
    if (const auto* now = std::get_if<store::Elsewhere>(&standing)) {
      base::log::error("{1}, the run around this one, no longer holds '{0}': it is {2}",
                       base::printable(key.text()), token.shown(),
                       now->holder ? hold::describe(now->holder) : "free");
      return ExitCode::lost;
    }
    const auto& ours = std::get<store::StillOurs>(standing);
    // The job's own, if that is known: of a quorum's servers some may know another number.
    const auto given = outer.holds[i].fence;
    leases.push_back(
        {key, token, plan.ttl, ours.until, given != 0 ? given : ours.fence.value_or(0)});
  }
  return leases;
}

bool any_still_held(const OuterLocks& outer, const ClaimPlan& plan) {
  const auto store = plan.open_store();
  for (std::size_t i = 0; i < outer.keys.size(); ++i) {
    const auto standing = plan.server.standing_of(*store, outer.keys[i], outer.holds[i].token);
    if (std::holds_alternative<store::StillOurs>(standing)) return true;
  }
  return false;
}

void report_nested(const OuterLocks& outer) {
  base::log::error(
      "'{}' is held by {}, the run around this command, which would wait for itself; to run under "
      "that lock: --reentrant",
      base::printable(outer.keys.front().text()), outer.holds.front().token.shown());
}

}  // namespace cmd
