// Which modes of a lock agree, how many hold it at once, and whom a waiter waits for. The scripts
// of Redis decide the same in Lua, under the same names.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "store/claim.hpp"

namespace store::rules {

/// The modes of several holders or waiters, which outlive the call.
using Modes = std::vector<const Mode*>;

/// How many may hold the lock at once; nothing: any number.
std::optional<std::size_t> capacity(const Mode& mode);
/// Whether two may use the key at the same time, one of them perhaps as a waiter: readers and
/// writers agree, permits only with the same number of them and the same names.
bool go_together(const Mode& one, const Mode& other);
/// Whether two may hold the lock at the same time, as far as the capacity allows.
bool hold_together(const Mode& one, const Mode& other);
/// Whether the lock has room for one more beside these holders.
bool has_room(const Modes& holders, const Mode& mode);
/// The lowest number of a permit that is not among the `taken`; 0 where there are no permits, or no
/// permit is free.
unsigned free_permit(std::vector<unsigned> taken, const Mode& mode);

/// Of a queue in the order of arrival, holders included: the place that the one at `place` waits
/// for. Nothing: it holds the lock.
std::optional<std::size_t> awaited_by(const Modes& queue, std::size_t place);
/// How many of such a queue hold the lock, from its front.
std::size_t holders_among(const Modes& queue);

}  // namespace store::rules
