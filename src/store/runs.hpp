// The server's record of the runs under a lock: a line for each, beside the lock.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.hpp"
#include "store/names.hpp"

namespace store {

/// How a run ended, or that it has not.
struct RunOutcome {
  enum class Kind {
    running,      // it holds the lock
    exited,       // its job ended by itself, with exit code `number`
    signalled,    // signal `number` killed its job
    lost,         // the lock was lost, or its holder vanished
    cancelled,    // a user asked the job to stop
    superseded,   // a newer run asked it to stop
    overran,      // --max-hold ended it
    not_started,  // its command could not be started; `number` is rlock's exit code
    released,     // by a step, which knows no job
  };
  Kind kind;
  int number = 0;

  bool operator==(const RunOutcome&) const = default;
};

/// "exited", "not-started": the form for programs.
std::string_view name_of(RunOutcome::Kind kind);

/// A piece of work that must be done once, by any host: "2026-11-24". It is done once a run for it
/// has ended by itself; until then, one run follows another.
struct Slot {
  static constexpr std::size_t longest = 128;
  /// Nothing if the text is not printable or too long.
  static std::optional<Slot> from(std::string_view text, unsigned retries);

  std::string id;
  unsigned retries = 0;  // this many runs may fail before the slot is done
};

/// The release's report on the run that it ends.
struct RunEnd {
  RunOutcome outcome;
  std::string why{};  // for people
};

/// A sentence for people that contains a reason of up to 200 bytes; the record keeps this many
/// bytes.
inline constexpr std::size_t longest_why = 340;

/// One run. Times are by the server's clock.
struct Run {
  Token token;
  std::uint64_t fence;
  base::Millis granted_ago;
  base::Millis waited;
  std::optional<base::Millis> held;  // nothing: it still runs, or its end was never reported
  RunOutcome outcome;
  std::string why;
  std::string slot{};    // empty: none
  unsigned attempt = 0;  // the number of the run for its slot, from 1
  std::string reason{};  // why the run was started, in the user's words; empty: not given

  [[nodiscard]] std::optional<base::Millis> ended_ago() const {
    return held ? std::optional{granted_ago - *held} : std::nullopt;
  }
};

/// The fields of a line are separated by tabs: FENCE, TOKEN, the time of the GRANT in ms since
/// 1970, then these, which come with the claim: how long it waited, and its slot, which may be
/// empty and contains no tab. Then the number of the run for that slot, or nothing; and last, if
/// there is one, the reason, also without tabs.
std::string fields_of_claim(base::Millis waited, std::string_view slot);
/// The end inserts before the reason the time of the END, and these: the outcome, and why.
std::string fields_of_end(const RunEnd& end);
/// Parses a line. `now_ms`: the server's time; `holds`: the token has the lock. Nothing for a line
/// that no rlock wrote. Ignores fields that a later version appends.
std::optional<Run> run_in(std::string_view line, std::int64_t now_ms, bool holds);
/// "exited 3": the outcome as in a line.
std::string text_of(const RunOutcome& outcome);
std::optional<RunOutcome> outcome_in(std::string_view text);

}  // namespace store
