#include "store/local/vigil.hpp"

#include <algorithm>

#include "store/local/terms.hpp"

namespace store::local {
namespace {

// Holders whose end the kernel tells us of; of the others, should they crash, we hear when we look
// again.
constexpr std::size_t most_watched = 64;
constexpr Millis look_again{1'000};

}  // namespace

bool Vigil::watch(const Ledger& ledger, const Entry& other) {
  if (watched_.size() == most_watched) return false;
  if (auto fd = ledger.watch(other.seat)) watched_.push_back(std::move(fd));
  return true;
}

Queued Vigil::begin(const Ledger& ledger, const Entry& mine) {
  Queued place{occupant_in(ledger, mine.token), 0, std::nullopt};
  const auto look_in = [&](Millis length) {
    place.look_in = std::min(place.look_in.value_or(length), length);
  };
  const Entry* before = nullptr;
  for (const Entry& each : ledger.entries()) {
    if (each.holds() || each.seat >= mine.seat) continue;
    ++place.ahead;
    before = &each;
  }
  watched_.clear();
  if (before != nullptr) watch(ledger, *before);
  for (const Entry& each : ledger.entries()) {
    if (!each.holds()) continue;
    // Kept beyond its process's end: nobody will tell.
    if (each.kept && *each.kept > 0)
      look_in(Millis{std::max<WallTime>(*each.kept - wall_now(), 0) + 1});
    if (before == nullptr && !watch(ledger, each)) look_in(look_again);
  }
  look_at_ = place.look_in ? Deadline::after(base::now(), *place.look_in) : Deadline::never();
  return place;
}

Turn Vigil::wait(os::NamedPipe& pipe, const Patience& patience) const {
  std::vector<int> pipes;
  pipes.reserve(watched_.size());
  for (const auto& fd : watched_) pipes.push_back(fd.number());
  const bool one_ended = os::wait_any({pipe.descriptor(), patience.interrupt}, pipes,
                                      std::min(patience.until, look_at_));
  bool told = false;
  for (const auto& line : pipe.take()) {
    if (auto notice = notice_in(line)) return *std::move(notice);
    told = true;
  }
  if (told || one_ended || look_at_.passed(base::now())) return ClaimAgain{};
  return StillWaiting{};
}

}  // namespace store::local
