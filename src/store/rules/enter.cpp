// A claim: a grant if the lock is free and it is our turn, otherwise a position, or the holder.
#include <algorithm>
#include <limits>

#include "store/rules/granted.hpp"
#include "store/rules/modes.hpp"
#include "store/rules/turns.hpp"
#include "store/rules/waiting.hpp"

namespace store::rules {
namespace {

// Beyond it a double, Lua's only number, has no exact next integer.
constexpr Fence highest_fence = (Fence{1} << 53) - 2;

/// One request to enter.
class Entering {
 public:
  Entering(LockState& state, const Enter& request, Facts facts)
      : state_{state},
        request_{request},
        claim_{request.claim},
        facts_{facts},
        turns_{state, facts},
        dead_{turns_.purge()} {
    if (claim_.slot) slot_ = turns_.slot(claim_.slot->id);
  }

  Decision<Entered> decide() {
    Entered answer = this->answer();
    return {std::move(answer), turns_.take_posts()};
  }

 private:
  Entered answer();
  std::optional<Entered> already_held();
  std::optional<Entered> slot_done();
  std::optional<Entered> no_higher_fence() const;
  std::optional<Entered> mismatch() const;
  void send_away();
  [[nodiscard]] bool is_my_turn() const;
  [[nodiscard]] bool was_sent_away();
  Entered grant();
  Entered busy();
  Entered stand();
  [[nodiscard]] std::optional<Millis> look_in(std::size_t rank, bool first_has_room) const;

  [[nodiscard]] Wait* mine() { return turns_.waiter(claim_.token, claim_.mode); }
  [[nodiscard]] bool is_reserved_for_me() const {
    return turns_.is_reserved_for(claim_.token, claim_.mode);
  }
  [[nodiscard]] bool is_first_mine() const {
    return !state_.queue.empty() && is_mine(state_.queue.front());
  }
  [[nodiscard]] bool is_mine(const Wait& wait) const {
    return wait.token == claim_.token && wait.mode == claim_.mode;
  }
  [[nodiscard]] Grant granted(const Hold& hold, bool again) const {
    return {hold.fence, hold.permit, claim_.slot ? slot_.runs : RunNumber{}, again};
  }

  LockState& state_;
  const Enter& request_;
  const Claim& claim_;
  Facts facts_;
  Turns turns_;
  std::vector<Wait> dead_;
  SlotState slot_{};
};

Entered Entering::answer() {
  if (auto held = already_held()) return *std::move(held);
  if (auto done = slot_done()) return *std::move(done);
  if (auto none = no_higher_fence()) return *std::move(none);
  if (auto conflict = mismatch()) return *std::move(conflict);
  if (!claim_.supersede.empty()) send_away();
  const bool room = state_.is_free() || (state_.is_several() && state_.mode == claim_.mode &&
                                         turns_.has_room_for(claim_.mode));
  if (is_reserved_for_me() || (room && is_my_turn() && !was_sent_away())) return grant();
  // Free, but others were here first: the holder's lease ended, or the first waiter did not come.
  if (state_.is_free()) turns_.roll_call(confirm_within, claim_.token);
  return stand();
}

/// The answer to the earlier grant was lost. Its run has the number that it had then: another run
/// of the slot may have begun or told its end since.
std::optional<Entered> Entering::already_held() {
  Hold* hold = turns_.hold_of(claim_.token);
  if (hold == nullptr) return std::nullopt;
  if (!state_.is_several() && claim_.mode.kind != Mode::Kind::exclusive) return std::nullopt;
  hold->ends = turns_.now() + claim_.ttl.length().count();
  const auto run = turns_.run_of(claim_.token);
  if (!slot_.runs_for(claim_.token.text()) && run != state_.runs.end() && run->attempt > 0) {
    slot_.runs.attempt = run->attempt;
  }
  return granted(*hold, true);
}

/// Nothing is left to do: a waiter leaves, and the turn passes on.
std::optional<Entered> Entering::slot_done() {
  if (!slot_.is_done()) return std::nullopt;
  const auto rank = turns_.rank(claim_.token, claim_.mode);
  const bool reserved = is_reserved_for_me();
  if (rank) {
    turns_.drop(claim_.token, claim_.mode);
    turns_.tear_up_letters(claim_.token);
  }
  if (reserved) {
    turns_.hand_off(confirm_within);
  } else if (state_.is_free()) {
    turns_.roll_call(confirm_within, claim_.token);
  } else if (rank) {
    if (*rank == 0) turns_.tell_first(confirm_within);
    turns_.replace_witness(*rank);
  }
  if (rank && state_.queue.size() >= told_at_once) {
    turns_.post(state_.queue[told_at_once - 1].token, "done");
  }
  return answer_of(slot_, Millis{std::max<TimeMs>(0, turns_.now() - slot_.ended_ms)});
}

std::optional<Entered> Entering::no_higher_fence() const {
  if (state_.last_fence < highest_fence) return std::nullopt;
  return NoHigherFence{state_.last_fence};
}

std::optional<Entered> Entering::mismatch() const {
  std::optional<ModeConflict> others;
  const bool first_counts = !state_.is_several() && !state_.queue.empty();
  if (first_counts && !is_first_mine()) {
    others = {state_.queue.front().mode, state_.queue.front().token};
  } else if (!state_.holders.empty()) {
    others = {state_.mode, state_.holders.front().token};
  }
  if (!others || go_together(others->mode, claim_.mode)) return std::nullopt;
  return *std::move(others);
}

/// Newest wins: dismiss waiters, and ask holders to stop unless they are spared. A repeated try
/// spares claims that arrived after its first try, and spares all if the first one was processed
/// after all and a letter to us has been written since.
void Entering::send_away() {
  const bool again = request_.tried > Millis{0};
  if (again && turns_.has_letter(claim_.token)) return;
  const auto ago = static_cast<std::uint64_t>(request_.tried.count()) * 1000;
  const auto newest = again ? turns_.now_us() - ago : std::numeric_limits<std::uint64_t>::max();
  const std::string stop = "stop - " + claim_.supersede;
  while (!state_.queue.empty()) {
    const Wait other = state_.queue.front();
    if (is_mine(other) || other.ticket > newest) break;
    turns_.write(other.token.text(), stop);
    if (turns_.is_reserved_for(other.token, other.mode)) state_.reservation.reset();
    turns_.drop(other.token, other.mode);
  }
  // A purged waiter may only be slow: ask it to stop as well.
  for (const Wait& other : dead_) {
    if (!again && !is_mine(other)) turns_.write(other.token.text(), stop);
  }
  if (claim_.spare_holders) return;
  for (const Hold& holder : state_.holders) {
    if (holder.fence <= newest) turns_.write(holder.token.text(), stop);
  }
}

bool Entering::is_my_turn() const {
  if (state_.queue.empty() || is_first_mine()) return true;
  // A waiter that was away long enough to lose its position comes back before later ones.
  return request_.ticket && *request_.ticket < state_.queue.front().ticket;
}

/// It was sent away after it had been woken, and reads of that only after its wake: until then it
/// has neither a turn nor a position.
bool Entering::was_sent_away() {
  return request_.ticket && mine() == nullptr && turns_.was_asked_to_stop(claim_.token);
}

Entered Entering::grant() {
  Hold hold{claim_.token, std::max<Fence>(state_.last_fence + 1, turns_.now_us()),
            turns_.now() + claim_.ttl.length().count()};
  state_.last_fence = hold.fence;
  state_.last_token = claim_.token;
  turns_.remember_fence(claim_.ttl.length());
  const bool was_told = is_reserved_for_me();
  state_.reservation.reset();
  state_.mode = claim_.mode;
  std::vector<unsigned> taken;
  for (const Hold& each : state_.holders) taken.push_back(each.permit);
  hold.permit = free_permit(std::move(taken), claim_.mode);
  state_.holders.push_back(hold);
  if (!state_.queue.empty()) {
    turns_.drop(claim_.token, claim_.mode);
    // After a hand-off the witness looks by itself; here no message was sent, or there is more
    // room.
    if (state_.is_several() || !was_told) turns_.tell_first(confirm_within);
    // The lease may end before the holder's that they saw, or before the reservation that the new
    // first waiter may have been told of.
    const Millis ttl = claim_.ttl.length();
    if (was_told && ttl < request_.pace.heartbeat)
      turns_.tell_lookers(ttl < confirm_within ? 0 : 1);
  }
  // A grant whose answer was lost, and that has expired.
  if (request_.tried > Millis{0})
    (void)turns_.end_run(claim_.token, std::nullopt, {}, std::nullopt);
  if (claim_.slot) {
    slot_ = with_run(slot_, claim_.token.text(), next_run(slot_, claim_.token.text()));
    turns_.set_slot(claim_.slot->id, slot_, claim_.history + claim_.ttl.length());
  }
  const Grant answer = granted(hold, false);
  turns_.begin_run(claim_, answer);
  return answer;
}

Entered Entering::busy() {
  if (!dead_.empty()) turns_.tell_first(confirm_within);
  return Busy{holder_of(state_, facts_), state_.queue.size()};
}

Entered Entering::stand() {
  const bool came_back = mine() != nullptr || request_.ticket;
  const bool crowded =
      !came_back && claim_.max_waiters && state_.queue.size() >= *claim_.max_waiters;
  if (claim_.on_busy == OnBusy::give_up || crowded) return busy();
  if (was_sent_away()) {
    if (!dead_.empty()) turns_.tell_first(confirm_within);
    Queued nowhere{holder_of(state_, facts_), state_.queue.size(), std::nullopt};
    nowhere.ticket = *request_.ticket;
    return nowhere;
  }
  if (mine() == nullptr) {
    const auto behind = state_.queue.empty() ? 0 : state_.queue.back().ticket + 1;
    turns_.stand({claim_.token, claim_.mode,
                  request_.ticket.value_or(std::max<std::uint64_t>(behind, turns_.now_us())), 0});
  }
  mine()->believed = turns_.now() + request_.pace.patience.count();
  const std::size_t rank = *turns_.rank(claim_.token, claim_.mode);
  // There is room for the first waiter, which did not come.
  const bool not_come = rank > 0 && turns_.may_first_join();
  if (not_come && !dead_.empty()) {
    turns_.roll_call(confirm_within, claim_.token);
  } else if (not_come || (rank > 0 && !dead_.empty())) {
    turns_.tell_first(confirm_within);
  }
  Queued place{holder_of(state_, facts_), rank, look_in(rank, not_come)};
  place.typical_run = turns_.typical_run();
  place.ticket = mine()->ticket;
  return place;
}

/// When something may change without a message.
std::optional<Millis> Entering::look_in(std::size_t rank, bool first_has_room) const {
  const auto until = [&](TimeMs then) { return Millis{std::max<TimeMs>(0, then - turns_.now())}; };
  if (rank > 0 && (first_has_room || state_.reservation)) {
    return until(state_.queue.front().believed + 1);
  }
  if (state_.is_free()) return std::nullopt;
  TimeMs ends = state_.reservation ? state_.reservation->ends : turns_.last_end();
  // The first permit that ends is enough.
  if (state_.is_several() && state_.mode == claim_.mode) {
    for (const Hold& each : state_.holders) ends = std::min(ends, each.ends);
  }
  if (rank == 0) return until(ends);
  // Waiters ahead may be dead. A living one comes when the lease ends, and we find it there.
  if (rank <= looking_behind) return until(ends) + stagger * rank;
  return std::nullopt;
}

}  // namespace

Decision<Entered> decide(LockState& state, const Enter& request, Facts facts) {
  return Entering{state, request, facts}.decide();
}

}  // namespace store::rules
