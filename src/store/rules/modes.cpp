#include "store/rules/modes.hpp"

#include <algorithm>

namespace store::rules {

std::optional<std::size_t> capacity(const Mode& mode) {
  if (mode.kind == Mode::Kind::shared) return std::nullopt;
  return mode.kind == Mode::Kind::permits ? mode.permits : 1;
}

bool go_together(const Mode& one, const Mode& other) {
  const bool permits = one.kind == Mode::Kind::permits || other.kind == Mode::Kind::permits;
  return !permits || one == other;
}

bool hold_together(const Mode& one, const Mode& other) {
  return one.kind != Mode::Kind::exclusive && one == other;
}

bool has_room(const Modes& holders, const Mode& mode) {
  const auto most = capacity(mode);
  if (most && holders.size() >= *most) return false;
  return std::all_of(holders.begin(), holders.end(),
                     [&](const Mode* each) { return hold_together(*each, mode); });
}

unsigned free_permit(std::vector<unsigned> taken, const Mode& mode) {
  if (mode.kind != Mode::Kind::permits) return 0;
  std::sort(taken.begin(), taken.end());
  unsigned lowest = 1;
  for (const unsigned each : taken) {
    if (each == lowest) ++lowest;
  }
  return lowest <= mode.permits ? lowest : 0;
}

std::optional<std::size_t> awaited_by(const Modes& queue, std::size_t place) {
  const Mode& mode = *queue[place];
  for (std::size_t i = place; i-- > 0;) {
    if (!hold_together(*queue[i], mode)) return i;
  }
  const auto most = capacity(mode);
  return most && place >= *most ? std::optional{place - *most} : std::nullopt;
}

std::size_t holders_among(const Modes& queue) {
  std::size_t count = 0;
  while (count < queue.size() && !awaited_by(queue, count)) ++count;
  return count;
}

}  // namespace store::rules
