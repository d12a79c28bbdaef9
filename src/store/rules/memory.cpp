// The record of runs and slots.
#include <algorithm>

#include "base/text.hpp"
#include "store/rules/runs.hpp"
#include "store/rules/turns.hpp"
#include "store/rules/waiting.hpp"

namespace store::rules {

void Turns::begin_run(const Claim& claim, const Grant& grant) {
  if (claim.history == Millis{0}) return;
  RememberedRun run{claim.token, grant.fence, now_, claim.waited};
  if (claim.slot) run.slot = claim.slot->id;
  run.attempt = grant.number.attempt;
  run.reason = claim.reason;
  state_.runs.insert(state_.runs.begin(), std::move(run));
  if (state_.runs.size() > remembered_runs) state_.runs.pop_back();
  state_.runs_end = now_ + (claim.history + claim.ttl.length()).count();
}

std::vector<RememberedRun>::iterator Turns::run_of(const Token& token) {
  return std::find_if(state_.runs.begin(), state_.runs.end(),
                      [&](const RememberedRun& each) { return each.token == token; });
}

Fence Turns::end_run(const Token& token, const std::optional<RunEnd>& end, const Parting& parting,
                     std::optional<Fence> granted) {
  const Millis history =
      parting.history > Millis{0} ? parting.history + parting.min_hold : Millis{};
  // 0: unknown.
  const Fence last = state_.last_token == token ? state_.last_fence : 0;
  const Fence known = parting.fence.value_or(last);
  const auto run = run_of(token);
  if (run != state_.runs.end()) {
    const Fence fence = known > 0 ? known : run->fence;
    if (run->end) return fence;
    if (history > Millis{0}) state_.runs_end = now_ + history.count();
    if (!end) {
      state_.runs.erase(run);
      return fence;
    }
    run->fence = fence;
    if (run->attempt > 0 && parting.slot) run->attempt = parting.slot->attempt;
    run->end = {now_, end->outcome, base::printable(end->why, longest_why)};
    return fence;
  }
  if (granted && end) {
    RememberedRun forgotten{token, *granted, static_cast<TimeMs>(*granted / 1000)};
    forgotten.end = {now_, end->outcome, base::printable(end->why, longest_why)};
    if (state_.runs.empty()) state_.runs_end = 0;
    state_.runs.insert(state_.runs.begin(), std::move(forgotten));
    if (state_.runs.size() > remembered_runs) state_.runs.pop_back();
    state_.runs_end = std::max(state_.runs_end, now_ + history.count());
  }
  return known;
}

SlotState Turns::slot(const std::string& id) const {
  const auto found = std::find_if(state_.slots.begin(), state_.slots.end(),
                                  [&](const RememberedSlot& each) { return each.id == id; });
  return found == state_.slots.end() ? SlotState{} : found->state;
}

void Turns::set_slot(const std::string& id, SlotState slot, Millis history) {
  const bool is_done = slot.is_done();
  std::erase_if(state_.slots, [&](const RememberedSlot& each) { return each.id == id; });
  if (slot.kind != SlotState::Kind::none) {
    const TimeMs ends = now_ + remembered_for(slot.kind, history).count();
    state_.slots.push_back({id, std::move(slot), ends});
  }
  if (is_done) tell_that_slot_is_done();
}

void Turns::tell_that_slot_is_done() {
  const auto& queue = state_.queue;
  for (std::size_t i = 0; i < std::min(queue.size(), told_at_once); ++i) {
    post(queue[i].token, "done");
  }
}

std::optional<Millis> Turns::typical_run() const {
  // Viewed from a later time: a clock that was set back shortens no run.
  constexpr TimeMs later = TimeMs{1} << 52;
  return typical_length(shown_runs(state_, later, runs_for_typical_length));
}

}  // namespace store::rules
