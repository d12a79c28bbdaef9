#include "store/local/watch.hpp"

#include <algorithm>

#include "store/local/mail.hpp"

namespace store::local {
namespace {

// The kernel reports the end of a holder. If it cannot (the pipe of another user, or too many
// holders to watch), look again after this time.
constexpr Millis look_again{1'000};
// A woken waiter that does not answer by then is passed over. Waiters behind it look whether that
// has happened; the nearer ones look more often.
constexpr Millis answer_time = LockDir::longest_silence + Millis{50};
// Ask the holders of a gate so often whether they answer; each question wakes them.
constexpr Millis ask_again{5'000};

}  // namespace

std::optional<Millis> PredecessorWatch::watch(const LockDir& lock, const QueueEntry& other) {
  // --min-hold keeps the lock beyond the end of the process: no hang-up reports it.
  if (const auto now = wall_now(); other.kept_until && *other.kept_until > now) {
    return Millis{*other.kept_until - now + 1};
  }
  if (watched_.size() == LockDir::most_watched()) return look_again;
  if (auto fd = lock.watch(other.ticket)) {
    watched_.push_back(std::move(fd));
    return std::nullopt;
  }
  return lock.lives(other.ticket) ? look_again : Millis{0};
}

std::optional<Millis> PredecessorWatch::begin(LockDir& lock, std::uint64_t ticket) {
  Queue& queue = lock.queue();
  std::optional<Millis> soonest;
  const auto look_in = [&](Millis length) { soonest = std::min(soonest.value_or(length), length); };
  const auto look_at = [&](const QueueEntry& other) {
    if (const auto length = watch(lock, other)) look_in(*length);
  };
  if (const QueueEntry* before = queue.waiter_before(ticket)) {
    look_at(*before);
    const Millis a_while = look_again * static_cast<Millis::rep>(1 + queue.waiting(ticket));
    // The first one, which does so more often, may be stopped as well.
    if (lock.is_gate()) lock.ask_holders();
    look_in(lock.has_woken() ? answer_time : a_while);
  } else {
    for (const QueueEntry& each : queue.holders()) look_at(each);
    asked_ = lock.is_gate() && !asked_;
    if (asked_) lock.ask_holders();
    if (lock.is_gate()) look_in(asked_ ? answer_time : ask_again);
  }
  look_at_ = soonest ? Deadline::after(base::now(), *soonest) : Deadline::never();
  return soonest;
}

void PredecessorWatch::end() {
  watched_.clear();
  look_at_ = Deadline::never();
}

Turn PredecessorWatch::wait(os::NamedPipe& pipe, const CallLimit& limit,
                            std::optional<rules::SlotState>& done) const {
  std::vector<int> pipes;
  pipes.reserve(watched_.size());
  for (const auto& fd : watched_) pipes.push_back(fd.number());
  const bool one_ended = os::wait_any({pipe.descriptor()}, pipes, limit.at_most(look_at_));
  bool told = false;
  for (const auto& line : pipe.take()) {
    if (auto notice = notice_in(line)) return *std::move(notice);
    if (auto slot = done_in(line)) done = std::move(slot->state);
    told = true;
  }
  if (told || one_ended || look_at_.passed(base::now())) return ClaimAgain{};
  return StillWaiting{};
}

}  // namespace store::local
