#include "store/local/entry.hpp"

#include <algorithm>
#include <chrono>

namespace store::local {

WallTime wall_now() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<Millis>(now).count();
}

const Entry* first_waiter(const std::vector<Entry>& entries) {
  const auto found =
      std::find_if(entries.begin(), entries.end(), [](const Entry& each) { return !each.holds(); });
  return found == entries.end() ? nullptr : &*found;
}

bool may_hold(const std::vector<Entry>& entries, const Entry& entry) {
  const Entry* first = first_waiter(entries);
  if (first != nullptr && first->seat < entry.seat) return false;
  std::size_t holders = 0;
  for (const Entry& each : entries) {
    if (!each.holds()) continue;
    if (each.mode.kind == Mode::Kind::exclusive || entry.mode.kind == Mode::Kind::exclusive) {
      return false;
    }
    ++holders;
  }
  return entry.mode.kind != Mode::Kind::permits || holders < entry.mode.permits;
}

}  // namespace store::local
