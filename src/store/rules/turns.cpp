#include "store/rules/turns.hpp"

#include <algorithm>

#include "store/rules/modes.hpp"
#include "store/rules/waiting.hpp"

namespace store::rules {
namespace {

constexpr Millis fence_life = std::chrono::hours{24};

constexpr TimeMs ms_of(std::uint64_t us) {
  return static_cast<TimeMs>(us / 1000);
}

template <typename Ending>
void drop_ended(std::vector<Ending>& all, TimeMs now) {
  std::erase_if(all, [&](const Ending& each) { return each.ends <= now; });
}

}  // namespace

Turns::Turns(LockState& state, Facts facts)
    : state_{state}, now_us_{facts.now_us}, now_{ms_of(facts.now_us)} {
  drop_ended(state_.holders, now_);
  drop_ended(state_.letters, now_);
  drop_ended(state_.slots, now_);
  if (state_.reservation && state_.reservation->ends <= now_) state_.reservation.reset();
  if (state_.fence_ends <= now_) {
    state_.last_fence = 0;
    state_.last_token.reset();
  }
  if (state_.runs_end <= now_) state_.runs.clear();
}

// ---- the queue
// ------------------------------------------------------------------------------------

std::vector<Wait> Turns::purge() {
  std::vector<Wait> dead;
  std::erase_if(state_.queue, [&](const Wait& each) {
    if (each.believed > now_) return false;
    dead.push_back(each);
    return true;
  });
  for (const Wait& each : dead) tear_up_letters(each.token);
  return dead;
}

Wait* Turns::waiter(const Token& token, const Mode& mode) {
  const auto found = std::find_if(state_.queue.begin(), state_.queue.end(), [&](const Wait& each) {
    return each.token == token && each.mode == mode;
  });
  return found == state_.queue.end() ? nullptr : &*found;
}

std::optional<std::size_t> Turns::rank(const Token& token, const Mode& mode) {
  const Wait* wait = waiter(token, mode);
  if (wait == nullptr) return std::nullopt;
  return static_cast<std::size_t>(wait - state_.queue.data());
}

Wait& Turns::stand(Wait wait) {
  const auto at = std::upper_bound(
      state_.queue.begin(), state_.queue.end(), wait,
      [](const Wait& one, const Wait& other) { return one.ticket < other.ticket; });
  return *state_.queue.insert(at, std::move(wait));
}

void Turns::drop(const Token& token, const Mode& mode) {
  std::erase_if(state_.queue,
                [&](const Wait& each) { return each.token == token && each.mode == mode; });
}

bool Turns::is_reserved_for(const Token& token, const Mode& mode) const {
  const auto& reservation = state_.reservation;
  return reservation && reservation->token == token && reservation->mode == mode;
}

void Turns::post(const Token& token, const char* message) {
  const Hold* hold = hold_of(token);
  if (hold == nullptr || !hold->is_kept(now_)) posts_.push_back({token.text(), message});
}

bool Turns::write(const std::string& to, const std::string& text) {
  const Hold* hold = hold_of(Token::foreign(to));
  if (hold != nullptr && hold->is_kept(now_)) return false;
  state_.letters.push_back({to, text, now_ + letter_life.count()});
  posts_.push_back({to, text});
  return true;
}

void Turns::tear_up_letters(const Token& token) {
  std::erase_if(state_.letters, [&](const Letter& each) { return each.to == token.text(); });
}

bool Turns::has_letter(const Token& token) const {
  return std::any_of(state_.letters.begin(), state_.letters.end(),
                     [&](const Letter& each) { return each.to == token.text(); });
}

bool Turns::was_asked_to_stop(const Token& token) const {
  return std::any_of(state_.letters.begin(), state_.letters.end(), [&](const Letter& each) {
    return each.to == token.text() && each.text.starts_with("stop ");
  });
}

void Turns::hand_off(Millis time) {
  state_.holders.clear();
  state_.reservation.reset();
  if (state_.queue.empty()) return;
  Wait& first = state_.queue.front();
  tell_witnesses();
  post(first.token, "wake");
  state_.reservation = Reservation{first.token, first.mode, now_ + time.count()};
  first.believed = now_ + time.count() + 1;
}

bool Turns::may_first_join() const {
  if (!state_.is_several()) return false;
  const Mode& mode = state_.queue.front().mode;
  return mode == state_.mode && has_room_for(mode);
}

void Turns::tell_first(Millis time) {
  if (state_.queue.empty()) return;
  Wait& first = state_.queue.front();
  if (!may_first_join()) return post(first.token, "next");
  const TimeMs until = now_ + time.count() + 1;
  if (first.believed <= until) return;  // it was woken before
  tell_witnesses();
  post(first.token, "wake");
  first.believed = until;
}

void Turns::tell_witnesses() {
  const auto& queue = state_.queue;
  if (queue.size() < 2) return;
  post(queue[1].token, "next");
  if (queue.size() > 2) post(queue.back().token, "next");
}

void Turns::replace_witness(std::size_t rank) {
  const auto& queue = state_.queue;
  const bool was_witness = rank == 1 || rank == queue.size();
  if (queue.size() > 1 && was_witness &&
      queue.front().believed <= now_ + confirm_within.count() + 1) {
    tell_witnesses();
  }
}

void Turns::tell_lookers(std::size_t from) {
  const auto& queue = state_.queue;
  for (std::size_t rank = from; rank <= looking_behind && rank < queue.size(); ++rank) {
    post(queue[rank].token, "next");
  }
}

void Turns::roll_call(Millis time, const Token& caller) {
  const Millis quarter = time / 4;
  if (state_.is_free()) {
    hand_off(quarter);
  } else {
    tell_first(quarter);
  }
  auto& queue = state_.queue;
  if (state_.is_free()) return;
  const TimeMs until = now_ + quarter.count() + 1;
  for (std::size_t rank = 1; rank <= called_at_once && rank < queue.size(); ++rank) {
    Wait& each = queue[rank];
    if (each.token == caller || each.believed <= until) continue;
    const bool is_witness = rank == 1 || rank + 1 == queue.size();  // already told
    if (!is_witness) post(each.token, "next");
    each.believed = until;
  }
}

// ---- holders
// --------------------------------------------------------------------------------------

Hold* Turns::hold_of(const Token& token) {
  const auto found = std::find_if(state_.holders.begin(), state_.holders.end(),
                                  [&](const Hold& each) { return each.token == token; });
  return found == state_.holders.end() ? nullptr : &*found;
}

bool Turns::has_room_for(const Mode& mode) const {
  const Modes holders(state_.holders.size(), &state_.mode);
  return has_room(holders, mode);
}

TimeMs Turns::last_end() const {
  TimeMs last = 0;
  for (const Hold& each : state_.holders) last = std::max(last, each.ends);
  return last;
}

bool Turns::ends_sooner_than(TimeMs before) const {
  return !state_.holders.empty() && std::max<TimeMs>(last_end(), now_ + 1) < before - 1;
}

void Turns::remember_fence(Millis length) {
  state_.fence_ends = now_ + (fence_life + length).count();
}

}  // namespace store::rules
