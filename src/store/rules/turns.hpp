// The elementary moves of the decisions: wake, notify, purge, record.
#pragma once

#include <string>
#include <vector>

#include "store/rules/decide.hpp"

namespace store::rules {

/// Moves on one state at one instant. Must not outlive the state.
class Turns {
 public:
  /// Drops expired parts, except waiters.
  Turns(LockState& state, Facts facts);

  [[nodiscard]] TimeMs now() const { return now_; }
  [[nodiscard]] std::uint64_t now_us() const { return now_us_; }
  std::vector<Post> take_posts() { return std::move(posts_); }

  // ---- the queue
  // ---------------------------------------------------------------------------------
  /// Drops and returns the waiters that gave no sign of life.
  std::vector<Wait> purge();
  [[nodiscard]] Wait* waiter(const Token& token, const Mode& mode);
  /// How many wait before it.
  [[nodiscard]] std::optional<std::size_t> rank(const Token& token, const Mode& mode);
  /// Inserts the waiter at its ticket's position.
  Wait& stand(Wait wait);
  /// Also drops the letters to it, unless a grant continues with them.
  void drop(const Token& token, const Mode& mode);
  [[nodiscard]] bool is_reserved_for(const Token& token, const Mode& mode) const;

  /// Sends a message that may be lost. None is sent for a hold that is only kept.
  void post(const Token& token, const char* message);
  /// Writes a message that must not be lost; false if nobody would read it.
  bool write(const std::string& to, const std::string& text);
  void tear_up_letters(const Token& token);
  [[nodiscard]] bool has_letter(const Token& token) const;
  [[nodiscard]] bool was_asked_to_stop(const Token& token) const;

  /// Passes the lock on: reserved for the first waiter, which has `time` to come, or free.
  void hand_off(Millis time);
  /// Something has changed for the first waiter. If it may join the holders, wakes it, and it has
  /// `time` to come, with witnesses. Otherwise tells it to look again whom it waits for.
  void tell_first(Millis time);
  /// The first waiter is about to be woken. Tells two witnesses to look again soon and take over if
  /// it is dead: the second waiter, and the last, the likeliest to live if those at the head died
  /// together.
  void tell_witnesses();
  /// A waiter has left from `rank`: if it was a witness, and the first one has not come yet, others
  /// take its place.
  void replace_witness(std::size_t rank);
  /// Corrects, from that rank on, the waiters that look at the end of a lease.
  void tell_lookers(std::size_t from);
  /// The first waiter did not come, and dead waiters are seldom alone (a crashed host): gives it a
  /// quarter of `time`, and the next ones the same to show that they live. `caller`, if it is one
  /// of them, has just done so.
  void roll_call(Millis time, const Token& caller);
  /// Whether there is room for the first waiter beside the holders.
  [[nodiscard]] bool may_first_join() const;

  // ---- holders
  // -----------------------------------------------------------------------------------
  [[nodiscard]] Hold* hold_of(const Token& token);
  [[nodiscard]] bool has_room_for(const Mode& mode) const;
  /// The end of the last lease.
  [[nodiscard]] TimeMs last_end() const;
  /// Whether that end is earlier than `before`, which the waiters that look at it expect.
  [[nodiscard]] bool ends_sooner_than(TimeMs before) const;
  /// Keeps the fence for that long from now, at least for a day.
  void remember_fence(Millis length);

  // ---- the memory
  // --------------------------------------------------------------------------------
  void begin_run(const Claim& claim, const Grant& grant);
  /// The recorded run of the token, or the end of the runs.
  [[nodiscard]] std::vector<RememberedRun>::iterator run_of(const Token& token);
  /// Records the outcome of the token's run; without an `end` there was no run. `granted`, if the
  /// parting has a history: the fence of one of several that still has the lock. (Its line may be
  /// gone because more runs have begun than are recorded; a long run must not be forgotten.)
  /// Returns the fence of the run, 0 if unknown.
  Fence end_run(const Token& token, const std::optional<RunEnd>& end, const Parting& parting,
                std::optional<Fence> granted);
  [[nodiscard]] SlotState slot(const std::string& id) const;
  /// If the slot is done, it was not done before.
  void set_slot(const std::string& id, SlotState slot, Millis history);
  void tell_that_slot_is_done();
  [[nodiscard]] std::optional<Millis> typical_run() const;

 private:
  LockState& state_;
  std::uint64_t now_us_;
  TimeMs now_;
  std::vector<Post> posts_;
};

}  // namespace store::rules
