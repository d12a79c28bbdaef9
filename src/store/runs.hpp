// What a server remembers of the runs under a lock: a line for each, beside the lock.
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
    exited,       // its job ended by itself, with the exit code `number`
    signalled,    // its job died of the signal `number`
    lost,         // the lock was lost, or whoever held it went without a word
    cancelled,    // somebody asked for the job's end
    superseded,   // a newer run did
    overran,      // --max-hold ended it
    not_started,  // its command could not be run; `number` is rlock's exit code
    released,     // by a step, which knows nothing of a job
  };
  Kind kind;
  int number = 0;

  bool operator==(const RunOutcome&) const = default;
};

/// "exited", "not-started": as programs are told.
std::string_view name_of(RunOutcome::Kind kind);

/// A piece of work that is to be done once, whoever does it: "2026-11-24". It is done once a run
/// for it has ended by itself; until then, one run follows another.
struct Slot {
  static constexpr std::size_t longest = 128;
  /// Printable, and not too long.
  static std::optional<Slot> from(std::string_view text, unsigned retries);

  std::string id;
  unsigned retries = 0;  // so many runs may end with another code than 0 without it being done
};

/// What a release says of the run that it ends.
struct RunEnd {
  RunOutcome outcome;
  std::string why{};  // for people
};

/// A sentence for people, of which a reason of 200 bytes is a part; so many bytes are remembered.
inline constexpr std::size_t longest_why = 340;

/// One run. Times are by the server's clock.
struct Run {
  Token token;
  std::uint64_t fence;
  base::Millis granted_ago;
  base::Millis waited;
  std::optional<base::Millis> held;  // nothing: it goes on, or nobody saw its end
  RunOutcome outcome;
  std::string why;
  std::string slot{};    // empty: none
  unsigned attempt = 0;  // the number of the run for its slot, from 1
  std::string reason{};  // what whoever began it said that it is for; empty: nothing

  [[nodiscard]] std::optional<base::Millis> ended_ago() const {
    return held ? std::optional{granted_ago - *held} : std::nullopt;
  }
};

/// A line has fields with a tab between them: FENCE, TOKEN, the time of the GRANT in ms since 1970,
/// then this, which comes with the claim: how long it waited, and its slot, which may be empty and
/// has no tab in it; the number of the run for that slot, or nothing; and last, only where there
/// is one, the reason, which has no tab in it either.
std::string fields_of_claim(base::Millis waited, std::string_view slot);
/// The end puts before the reason the time of the END, and this: the outcome, and why.
std::string fields_of_end(const RunEnd& end);
/// The run that a line tells of. `now_ms`: the server's time; `holds`: the token has the lock.
/// Nothing for a line that no rlock wrote. Fields that a later version appends are passed over.
std::optional<Run> run_in(std::string_view line, std::int64_t now_ms, bool holds);
/// "exited 3": the outcome as a line has it.
std::string text_of(const RunOutcome& outcome);
std::optional<RunOutcome> outcome_in(std::string_view text);

}  // namespace store
