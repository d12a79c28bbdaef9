#include "store/local/vigil.hpp"

#include <algorithm>

#include "store/local/terms.hpp"

namespace store::local {
namespace {

// Holders whose end the kernel tells us of; of the others, and of other users' whose pipes we may
// not open, we hear when we look again.
constexpr Millis look_again{1'000};

}  // namespace

std::optional<Millis> Vigil::watch(const Ledger& ledger, const Entry& other) {
  // ReturnedLock beyond its process's end: nobody will tell.
  if (const auto now = wall_now(); other.kept && *other.kept > now) {
    return Millis{*other.kept - now + 1};
  }
  if (watched_.size() == Ledger::most_watched()) return look_again;
  if (auto fd = ledger.watch(other.seat)) {
    watched_.push_back(std::move(fd));
    return std::nullopt;
  }
  return ledger.lives(other.seat) ? look_again : Millis{0};
}

Queued Vigil::begin(Ledger& ledger, const Entry& mine) {
  Roster& roster = ledger.roster();
  const auto holders = roster.holders();
  Queued place{occupant_in(holders, mine.token), roster.waiting(mine.seat), std::nullopt};
  const auto look_at = [&](const Entry& other) {
    if (const auto length = watch(ledger, other)) {
      place.look_in = std::min(place.look_in.value_or(*length), *length);
    }
  };
  if (const Entry* before = roster.waiter_before(mine.seat)) {
    look_at(*before);
  } else {
    for (const Entry& each : holders) look_at(each);
  }
  look_at_ = place.look_in ? Deadline::after(base::now(), *place.look_in) : Deadline::never();
  return place;
}

void Vigil::end() {
  watched_.clear();
  look_at_ = Deadline::never();
}

Turn Vigil::wait(os::NamedPipe& pipe, const CallLimit& limit) const {
  std::vector<int> pipes;
  pipes.reserve(watched_.size());
  for (const auto& fd : watched_) pipes.push_back(fd.number());
  const bool one_ended =
      os::wait_any({pipe.descriptor(), limit.interrupt}, pipes, std::min(limit.until, look_at_));
  bool told = false;
  for (const auto& line : pipe.take()) {
    if (auto notice = notice_in(line)) return *std::move(notice);
    told = true;
  }
  if (told || one_ended || look_at_.passed(base::now())) return ClaimAgain{};
  return StillWaiting{};
}

}  // namespace store::local
