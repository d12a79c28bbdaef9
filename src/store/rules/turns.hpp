// The moves that the decisions consist of: who is woken, who is told, who is dead, what is
// remembered.
#pragma once

#include <string>
#include <vector>

#include "store/rules/decide.hpp"

namespace store::rules {

/// Moves on one state, at one instant. Lives no longer than the state.
class Turns {
 public:
  /// What has ended by then is dropped, but for waiters.
  Turns(LockState& state, Facts facts);

  [[nodiscard]] TimeMs now() const { return now_; }
  [[nodiscard]] std::uint64_t now_us() const { return now_us_; }
  std::vector<Post> take_posts() { return std::move(posts_); }

  // ---- the queue
  // ---------------------------------------------------------------------------------
  /// Drops the waiters that gave no sign of life, and says which.
  std::vector<Wait> purge();
  [[nodiscard]] Wait* waiter(const Token& token, const Mode& mode);
  /// Puts it where its ticket says.
  Wait& stand(Wait wait);
  /// The words for them go as well, unless a grant goes on with them.
  void drop(const Token& token, const Mode& mode);
  [[nodiscard]] bool is_reserved_for(const Token& token, const Mode& mode) const;

  /// A word that may be lost. Nobody reads one for a hold that is kept.
  void post(const Token& token, const char* message);
  /// One that must not be lost; false if nobody would read it.
  bool write(const std::string& to, const std::string& text);
  void tear_up_letters(const Token& token);
  [[nodiscard]] bool has_letter(const Token& token) const;
  [[nodiscard]] bool was_asked_to_stop(const Token& token) const;

  /// Gives the lock away: reserved for the first waiter, who has `time` to come, or free.
  void hand_off(Millis time);
  /// Something has changed for the first waiter. If several hold and it may join them, it is woken
  /// and has `time` to come, before witnesses; else it is told to look whom it waits for now.
  void tell_first(Millis time);
  /// The first one was woken. Two witnesses look again soon, and take over if it is dead: the
  /// second, and the last, which is the likeliest to live when those at the head died together.
  void tell_witnesses();
  /// What those were told who look at the end of a lease is not true any more; from that rank on.
  void tell_lookers(std::size_t from);
  /// The first one did not come, and the dead are seldom alone (a host that crashed): it has a
  /// quarter of `time` now, and so have the next ones to show that they live. `caller`, if it is
  /// one, does so right now.
  void roll_call(Millis time, const Token& caller);
  /// Whether there is room for the first waiter, which there is, beside those who hold the lock.
  [[nodiscard]] bool may_first_join() const;

  // ---- holders
  // -----------------------------------------------------------------------------------
  [[nodiscard]] Hold* hold_of(const Token& token);
  [[nodiscard]] bool has_room_for(const Mode& mode) const;
  /// The end of the last lease.
  [[nodiscard]] TimeMs last_end() const;
  /// Whether that is sooner than it was: those who look at the end of a lease were told another.
  [[nodiscard]] bool ends_sooner_than(TimeMs before) const;
  /// So long after now the fence is remembered, at least for a day.
  void remember_fence(Millis length);

  // ---- the memory
  // --------------------------------------------------------------------------------
  void begin_run(const Claim& claim, const Grant& grant);
  /// What the run of that token came to; it never was, without an `end`. `granted`: the fence of
  /// one among several that has the lock still (where more have begun since than are remembered,
  /// its line is gone, and it is not to be forgotten because it took long), if the parting has a
  /// history. Returns the fence of the run, 0 if that is not known.
  Fence end_run(const Token& token, const std::optional<RunEnd>& end, const Parting& parting,
                std::optional<Fence> granted);
  [[nodiscard]] SlotState slot(const std::string& id) const;
  /// One that is done was not done before.
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
