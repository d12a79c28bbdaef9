// The decision on a release or a withdrawal.
#include <algorithm>

#include "store/rules/turns.hpp"
#include "store/rules/waiting.hpp"

namespace store::rules {
namespace {

/// One token that leaves. `of_claim`: the mode of its claim; nothing: a release, which names the
/// token alone.
class Leaving {
 public:
  Leaving(LockState& state, const Token& token, const std::optional<Mode>& of_claim,
          const Parting& parting, Facts facts)
      : state_{state}, token_{token}, parting_{parting}, turns_{state, facts} {
    turns_.purge();
    turns_.tear_up_letters(token);
    // The holder of most servers of a quorum may still wait at another one, and as a reader.
    Mode mode = of_claim.value_or(Mode{});
    const Mode reader{Mode::Kind::shared};
    const bool waits = turns_.waiter(token, mode) != nullptr;
    if (!of_claim && !waits && turns_.waiter(token, reader) != nullptr) mode = reader;
    rank_ = turns_.rank(token, mode);
    turns_.drop(token, mode);
    was_reserved_ = turns_.is_reserved_for(token, mode);
    // A token is enough, but an exclusive lock cannot be withdrawn by a claim in another mode.
    const Hold* hold = turns_.hold_of(token);
    const bool other_mode = !state.is_several() && mode.kind != Mode::Kind::exclusive;
    if (hold != nullptr && !other_mode) hold_ = *hold;
  }

  Decision<Own> release() {
    remember(true);
    if (is_holder()) {
      give_back();
      return done(Own::ours);
    }
    const Own found = state_.is_free() ? Own::nobodys : Own::elsewhere;
    if (rank_) leave_queue();
    return done(found);
  }

  Decision<Own> cancel() {
    remember(false);
    if (is_holder()) {
      give_back();
    } else {
      leave_queue();
    }
    return done(Own::ours);
  }

 private:
  void remember(bool is_release);
  void give_back();
  void leave_queue();

  [[nodiscard]] bool is_holder() const { return hold_ || was_reserved_; }
  Decision<Own> done(Own answer) { return {answer, turns_.take_posts()}; }

  LockState& state_;
  const Token& token_;
  const Parting& parting_;
  Turns turns_;
  std::optional<std::size_t> rank_;
  std::optional<Hold> hold_;
  bool was_reserved_ = false;
};

/// The lease may have expired on the way; still, the run has ended, or never was one.
void Leaving::remember(bool is_release) {
  const auto& of_slot = parting_.slot;
  const SlotState slot = of_slot ? turns_.slot(of_slot->slot.id) : SlotState{};
  // Independent of the lock: its next holder may have ended this run.
  const bool slot_is_ours = slot.runs_for(token_.text());
  if (!is_release && !is_holder() && !slot_is_ours && state_.last_token != token_) return;
  const bool is_several = hold_ && state_.is_several();
  const auto granted =
      is_several && parting_.history > Millis{0} ? std::optional{hold_->fence} : std::nullopt;
  const Fence fence = turns_.end_run(token_, parting_.end, parting_, granted);
  SlotState after = slot;
  if (of_slot && parting_.end) {
    const bool was_last = state_.last_token && state_.last_token->text() == slot.token;
    after = after_run(slot, end_of_run(token_, parting_, fence, turns_.now()),
                      was_last ? state_.last_fence : 0);
  } else {
    after = without_run(slot, token_.text());
  }
  if (after != slot) {
    turns_.set_slot(of_slot->slot.id, std::move(after), parting_.history + parting_.min_hold);
  }
}

void Leaving::give_back() {
  // A grant in the future (the clock was set back) must not lengthen --min-hold.
  const auto granted = hold_ ? hold_->fence : turns_.now_us();
  const auto held_us = turns_.now_us() > granted ? turns_.now_us() - granted : 0;
  const auto min_hold_us = static_cast<std::uint64_t>(parting_.min_hold.count()) * 1000;
  const auto stays_ms = hold_ && min_hold_us > held_us
                            ? static_cast<TimeMs>((min_hold_us - held_us + 999) / 1000)
                            : 0;
  const TimeMs ended = turns_.last_end();
  if (Hold* hold = turns_.hold_of(token_); hold != nullptr && stays_ms > 0) {
    hold->ends = turns_.now() + stays_ms;
    hold->kept = hold->ends;
    turns_.remember_fence(Millis{stays_ms});
  } else if (hold_ && state_.is_several()) {
    std::erase_if(state_.holders, [&](const Hold& each) { return each.token == token_; });
  }
  const bool sooner = turns_.ends_sooner_than(ended);
  if (!state_.is_several() && stays_ms == 0) {
    turns_.hand_off(confirm_within);
  } else {
    turns_.tell_first(confirm_within);
  }
  if (stays_ms > 0 || sooner) turns_.tell_lookers(1);  // it ends sooner than they were told
}

void Leaving::leave_queue() {
  if (state_.is_free()) {
    turns_.roll_call(confirm_within, token_);  // others were here first
    return;
  }
  if (!rank_) return;
  if (*rank_ < 2) turns_.tell_first(confirm_within);
  turns_.replace_witness(*rank_);
}

}  // namespace

Decision<Own> decide(LockState& state, const Leave& request, Facts facts) {
  return Leaving{state, request.token, std::nullopt, request.parting, facts}.release();
}

Decision<Own> decide(LockState& state, const Cancel& request, Facts facts) {
  return Leaving{state, request.claim.token, request.claim.mode, no_run(request.claim), facts}
      .cancel();
}

}  // namespace store::rules
