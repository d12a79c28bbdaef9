#include "store/local/entry.hpp"

#include <algorithm>
#include <chrono>

namespace store::local {

WallTime wall_now() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<Millis>(now).count();
}

WallTime wall_time(std::uint64_t number) {
  constexpr std::uint64_t latest = 253'402'300'799'999;  // 9999-12-31T23:59:59.999Z
  return static_cast<WallTime>(std::min(number, latest));
}

bool has_room(const std::vector<Entry>& holders, const Mode& mode) {
  const bool alone = mode.kind == Mode::Kind::exclusive ||
                     std::any_of(holders.begin(), holders.end(), [](const Entry& each) {
                       return each.mode.kind == Mode::Kind::exclusive;
                     });
  if (alone) return holders.empty();
  return mode.kind != Mode::Kind::permits || holders.size() < mode.permits;
}

}  // namespace store::local
