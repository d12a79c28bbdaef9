#include "store/rules/slot.hpp"

#include <algorithm>

namespace store::rules {
namespace {

using Kind = SlotState::Kind;

constexpr Millis a_day = std::chrono::hours{24};

}  // namespace

RunNumber number_of(const Lease& lease) {
  return {lease.attempt, lease.failures};
}

RunNumber higher_of(RunNumber one, RunNumber other) {
  return {std::max(one.attempt, other.attempt), std::max(one.failures, other.failures)};
}

Millis remembered_for(Kind kind, Millis history) {
  return kind == Kind::running ? std::max(history, a_day) : history;
}

RunNumber next_run(const SlotState& slot, const std::string& token) {
  const bool had_one = slot.kind == Kind::running || slot.kind == Kind::open;
  RunNumber number = slot.runs;
  // A late claim of a run whose end is known is that run.
  if (!had_one || slot.token != token) ++number.attempt;
  return number;
}

SlotState with_run(const SlotState& slot, const std::string& token, RunNumber number) {
  SlotState after{
      Kind::running, {number.attempt, std::max(slot.runs.failures, number.failures)}, token};
  // The run before may report its end again, even after this one was withdrawn.
  if (slot.kind == Kind::open) after.before = slot.token;
  if (slot.runs_for(token)) after.before = slot.before;
  return after;
}

SlotState without_run(const SlotState& slot, const std::string& token) {
  if (slot.before == token && slot.runs_for(token)) return {Kind::open, slot.runs, token};
  if (!slot.runs_for(token)) return slot;
  if (slot.runs.attempt <= 1) return {};
  return {Kind::open, {slot.runs.attempt - 1, slot.runs.failures}, slot.before};
}

EndOfRun end_of_run(const Token& token, const Parting& parting, Fence fence, std::int64_t now_ms) {
  const auto& of_slot = *parting.slot;
  return {token.text(),
          {of_slot.attempt, of_slot.failures},
          of_slot.end,
          of_slot.slot.retries,
          parting.end->outcome,
          fence,
          now_ms};
}

bool is_over(const SlotState& slot, const std::string& token) {
  return slot.is_done() || (slot.kind == Kind::open && slot.token == token);
}

SlotState after_run(const SlotState& slot, const EndOfRun& ended, Fence running) {
  using End = Parting::SlotEnd;
  const bool ours = slot.runs_for(ended.token);
  // The end is already known. It is not this run's if the claim was processed again since, nor a
  // later run's.
  if (slot.kind == Kind::running && slot.before == ended.token) {
    return ours ? SlotState{Kind::open, slot.runs, ended.token} : slot;
  }
  if (is_over(slot, ended.token)) return slot;
  const bool failed = ended.end == End::failed;
  const bool ends_slot =
      ended.end == End::done || (failed && ended.number.failures >= ended.retries);
  if (!ours && !ends_slot) {
    if (slot.runs.attempt > ended.number.attempt) return slot;
    // Numbers restart if a server loses its data, fences do not. So the other run is later and
    // still runs, and this is the run before it.
    if (slot.kind == Kind::running && running > ended.fence) {
      const unsigned failures = ended.number.failures + (failed ? 1 : 0);
      return {Kind::running,
              {ended.number.attempt + 1, std::max(slot.runs.failures, failures)},
              slot.token,
              ended.token};
    }
  }
  // The end of a run with a higher number arrived first. That run knew of this one, so its counts
  // stay.
  if (ours && !ends_slot && !slot.before.empty() && slot.runs.attempt > ended.number.attempt + 1) {
    return {Kind::open, {slot.runs.attempt - 1, slot.runs.failures}, ended.token};
  }
  RunNumber runs{ended.number.attempt, std::max(slot.runs.failures, ended.number.failures)};
  // All that is known of it came with a later claim that was withdrawn: its failure may be counted.
  const bool known_by_later = slot.kind == Kind::open && slot.token.empty() &&
                              slot.runs.attempt == ended.number.attempt && slot.runs.failures > 0;
  if (known_by_later) runs.failures = std::max(slot.runs.failures - 1, ended.number.failures);
  if (ended.end == End::open || (failed && runs.failures < ended.retries)) {
    if (failed) ++runs.failures;
    return {Kind::open, runs, ended.token};
  }
  return {Kind::done, runs, ended.token, {}, ended.outcome, ended.fence, ended.now_ms};
}

}  // namespace store::rules
