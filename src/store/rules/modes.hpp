// The compatibility of modes, the capacity of a lock, and whom a waiter waits for. The Lua scripts
// for Redis decide the same under the same names.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "store/claim.hpp"

namespace store::rules {

/// The modes of several holders or waiters, which outlive the call.
using Modes = std::vector<const Mode*>;

/// How many may hold the lock at once; nothing: no limit.
std::optional<std::size_t> capacity(const Mode& mode);
/// Whether the two may use the key at the same time, even if one only waits: readers and writers
/// may, permits only with the same number and names.
bool go_together(const Mode& one, const Mode& other);
/// Whether two may hold the lock at the same time, capacity permitting.
bool hold_together(const Mode& one, const Mode& other);
/// Whether the lock has room for one more beside these holders.
bool has_room(const Modes& holders, const Mode& mode);
/// The lowest permit number that is not `taken`; 0 if there are no permits, or none is free.
unsigned free_permit(std::vector<unsigned> taken, const Mode& mode);

/// The position that the waiter at `place` waits for, in a queue by arrival that includes holders.
/// Nothing: `place` holds the lock.
std::optional<std::size_t> awaited_by(const Modes& queue, std::size_t place);
/// How many of such a queue, from its front, hold the lock.
std::size_t holders_among(const Modes& queue);

}  // namespace store::rules
