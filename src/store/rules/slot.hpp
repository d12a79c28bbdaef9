// What a slot becomes when a run for it begins, ends, or turns out to be none. The scripts of Redis
// decide the same in Lua, under the same names.
#pragma once

#include <cstdint>
#include <string>

#include "store/claim.hpp"

namespace store::rules {

/// Which run for a slot this is, and how many before it failed.
struct RunNumber {
  unsigned attempt = 0;  // from 1; 0: there was none
  unsigned failures = 0;

  bool operator==(const RunNumber&) const = default;
};
RunNumber number_of(const Lease& lease);
/// Servers of a quorum may have missed runs: each number counts where it is highest.
RunNumber higher_of(RunNumber one, RunNumber other);

/// What a server remembers of a slot.
struct SlotState {
  enum class Kind { none, open, running, done };

  Kind kind = Kind::none;
  RunNumber runs{};      // that it has had, and how many of these failed
  std::string token{};   // open: of the last run, or empty; running and done: of that run
  std::string before{};  // running: of the run before, if its end left the slot open
  // Only of one that is done:
  RunOutcome outcome{RunOutcome::Kind::running};
  Fence fence = 0;
  std::int64_t ended_ms = 0;  // by the server's clock; 0: the store keeps that time elsewhere

  [[nodiscard]] bool is_done() const { return kind == Kind::done; }
  [[nodiscard]] bool runs_for(const std::string& whose) const {
    return kind == Kind::running && token == whose;
  }
  bool operator==(const SlotState&) const = default;
};

/// How long a slot in that state is remembered after it was written: a run may take longer than its
/// --history, so one that goes on is remembered for a day at least.
Millis remembered_for(SlotState::Kind kind, Millis history);

/// The number of the run that `token` begins now. A claim that is heard again begins no second run.
RunNumber next_run(const SlotState& slot, const std::string& token);
/// The run of `token` has begun, with that number. If another run was going on, that one was lost.
SlotState with_run(const SlotState& slot, const std::string& token, RunNumber number);
/// The run of `token` never was: its grant was taken back.
SlotState without_run(const SlotState& slot, const std::string& token);

/// How a run for a slot ended.
struct EndOfRun {
  std::string token;
  RunNumber number;  // as its lease says
  Parting::SlotEnd end;
  unsigned retries;
  RunOutcome outcome;
  Fence fence;
  std::int64_t now_ms;  // as SlotState::ended_ms
};
/// The end of a run as its parting tells it, which has an end and a slot.
EndOfRun end_of_run(const Token& token, const Parting& parting, Fence fence, std::int64_t now_ms);
/// Whether the server has heard the end of that run.
bool is_over(const SlotState& slot, const std::string& token);
/// That run has ended. What the lease says of its number counts, for the server may have missed
/// runs, or have lost the slot. An end that is heard again changes nothing. One that leaves the
/// slot open changes nothing if a later run is known, and does not stop one that goes on.
/// An end that does the slot always counts. `running`: the fence of the run that the slot shows as
/// running; 0 where it is not known, or no later run can have a lower number.
SlotState after_run(const SlotState& slot, const EndOfRun& ended, Fence running = 0);

}  // namespace store::rules
