// One who holds a lock or waits for it, and who may hold it next to whom.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "store/lock_store.hpp"
#include "store/names.hpp"

namespace store::local {

/// A time that survives its process, for people and for --min-hold: ms since 1970, the host's
/// clock.
using WallTime = std::int64_t;
WallTime wall_now();
/// From a file that anybody may have written: no later than the year 9999.
WallTime wall_time(std::uint64_t number);

/// Somebody in the ledger.
struct Entry {
  std::uint64_t seat;  // in the order of arrival
  Token token;
  Mode mode;
  WallTime since;                // it waits, or holds
  std::optional<Fence> fence;    // of a holder
  std::optional<WallTime> kept;  // of a holder whose process may be gone: until then

  [[nodiscard]] bool holds() const { return fence.has_value(); }
};

/// Whether there is room for one more beside these.
bool has_room(const std::vector<Entry>& holders, const Mode& mode);

}  // namespace store::local
