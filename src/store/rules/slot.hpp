// The state of a slot after a run for it begins, ends, or is withdrawn. The Lua scripts for Redis
// decide the same under the same names.
#pragma once

#include <cstdint>
#include <string>

#include "store/claim.hpp"

namespace store::rules {

/// The number of a run for a slot, and how many before it failed.
struct RunNumber {
  unsigned attempt = 0;  // from 1; 0: no run
  unsigned failures = 0;

  bool operator==(const RunNumber&) const = default;
};
RunNumber number_of(const Lease& lease);
/// Servers of a quorum may have missed runs, so the highest of each number counts.
RunNumber higher_of(RunNumber one, RunNumber other);

/// A server's record of a slot.
struct SlotState {
  enum class Kind { none, open, running, done };

  Kind kind = Kind::none;
  RunNumber runs{};      // how many it has had, and how many of these failed
  std::string token{};   // open: of the last run, or empty; running and done: of that run
  std::string before{};  // running: of the run before, if its end left the slot open
  // Only if done:
  RunOutcome outcome{RunOutcome::Kind::running};
  Fence fence = 0;
  std::int64_t ended_ms = 0;  // by the server's clock; 0: the store keeps that time elsewhere

  [[nodiscard]] bool is_done() const { return kind == Kind::done; }
  [[nodiscard]] bool runs_for(const std::string& whose) const {
    return kind == Kind::running && token == whose;
  }
  bool operator==(const SlotState&) const = default;
};

/// How long a slot in that state is recorded after it was written. A run may take longer than its
/// --history, so a running one is recorded for at least a day.
Millis remembered_for(SlotState::Kind kind, Millis history);

/// The number of the run that `token` begins now. A repeated claim begins no second run.
RunNumber next_run(const SlotState& slot, const std::string& token);
/// The slot after the run of `token` has begun, with that number. Another running run was lost.
SlotState with_run(const SlotState& slot, const std::string& token, RunNumber number);
/// The slot without the run of `token`, whose grant was withdrawn.
SlotState without_run(const SlotState& slot, const std::string& token);

/// The end of a run for a slot.
struct EndOfRun {
  std::string token;
  RunNumber number;  // from its lease
  Parting::SlotEnd end;
  unsigned retries;
  RunOutcome outcome;
  Fence fence;
  std::int64_t now_ms;  // as SlotState::ended_ms
};
/// The end of a run from its parting, which has an end and a slot.
EndOfRun end_of_run(const Token& token, const Parting& parting, Fence fence, std::int64_t now_ms);
/// Whether the server already knows the end of that run.
bool is_over(const SlotState& slot, const std::string& token);
/// The slot after that run has ended. The number in the lease counts, because the server may have
/// missed runs or lost the slot. A repeated end changes nothing. An end that leaves the slot open
/// changes nothing if a later run is known, and does not end a running one. An end that finishes
/// the slot always counts. `running`: the fence of the run that the slot shows as running; 0 if
/// unknown, or if no later run can have a lower number.
SlotState after_run(const SlotState& slot, const EndOfRun& ended, Fence running = 0);

}  // namespace store::rules
