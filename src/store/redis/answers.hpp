// What our scripts answer, as values.
#pragma once

#include "store/lock_store.hpp"
#include "store/redis/reply.hpp"

namespace store::redis {

/// Who has the lock, from the four fields that begin at `reply[first]`; nothing if nobody.
std::optional<Occupant> occupant_in(const Reply& reply, std::size_t first);
/// A fence, or nothing if the text is no number.
std::optional<Fence> fence_in(const Reply& field);
/// For an answer that a script of ours never gives.
Fault nonsense();

}  // namespace store::redis
