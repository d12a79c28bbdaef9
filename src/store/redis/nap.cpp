#include "store/redis/nap.hpp"

#include "os/host.hpp"

namespace store::redis {
namespace {

// Redis looks at BLPOP's timeouts 10 times a second (hz): they end up to 100 ms late, which would
// be that much more of nobody holding the lock of a crashed holder.
constexpr Millis server_tick{120};

Nap until_expiry(Millis expires_in) {
  const Millis expired = expires_in + Millis{1};
  if (expired >= heartbeat) return {heartbeat, std::nullopt};
  // A living holder refreshes long before this is over: look again in time, and only when it did
  // not, be exact.
  if (expired > 2 * server_tick) return {expired - server_tick, std::nullopt};
  return {expired + Millis{1000}, expired};
}

/// A holder that is no rlock sends no wake, and one without expiry may never end.
Nap poll_foreign(std::optional<Millis> expires_in) {
  const Millis interval{os::random_between(200, 500)};
  return {std::min(interval, expires_in.value_or(interval) + Millis{1}), std::nullopt};
}

}  // namespace

Nap nap_for(const Queued& place) {
  if (!place.occupant) return {second_look, std::nullopt};
  // The server knows when the one before us would have to have shown itself.
  if (place.ahead > 0)
    return {std::min(heartbeat, place.look_in.value_or(heartbeat)), std::nullopt};
  const Holder& occupant = *place.occupant;
  if (occupant.kind == Holder::Kind::foreign || !place.look_in) {
    return poll_foreign(occupant.expires_in);
  }
  return until_expiry(*place.look_in);
}

}  // namespace store::redis
