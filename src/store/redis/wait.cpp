#include "store/redis/wait.hpp"

#include "os/host.hpp"
#include "store/redis/scripts.hpp"
#include "store/rules/posts.hpp"

namespace store::redis {
namespace {

// Redis checks BLPOP's timeouts 10 times a second (hz), so they end up to 100 ms late. For that
// much longer a crashed holder's lock would stay without a holder.
constexpr Millis server_tick{120};

WaitTime until_expiry(Millis expires_in) {
  const Millis expired = expires_in + Millis{1};
  if (expired >= heartbeat) return {heartbeat, std::nullopt};
  // A living holder refreshes long before this: look early, and be exact only if it has not.
  if (expired > 2 * server_tick) return {expired - server_tick, std::nullopt};
  return {expired + Millis{1000}, expired};
}

/// A foreign holder sends no wake, and may never expire.
WaitTime poll_foreign(std::optional<Millis> expires_in) {
  const Millis interval{os::random_between(200, 500)};
  return {std::min(interval, expires_in.value_or(interval) + Millis{1}), std::nullopt};
}

// A server whose timer is later than its tick by this much counts as silent.
constexpr Millis late_for_waiter{2'000};
}  // namespace

WaitTime wait_time_for(const Queued& place) {
  if (!place.holder) return {second_look, std::nullopt};
  // The server knows when the waiter before us should have given a sign.
  if (place.ahead > 0) {
    return {std::min(heartbeat, place.look_in.value_or(heartbeat)), std::nullopt};
  }
  const Holder& holder = *place.holder;
  if (holder.kind == Holder::Kind::foreign || !place.look_in) {
    return poll_foreign(holder.expires_in);
  }
  return until_expiry(*place.look_in);
}

Result<base::Done> BlockingWait::block(const std::string& mailbox, WaitTime time,
                                       const CallLimit& limit) {
  auto sent = client_.send(blocking_pop({mailbox}, time.server_timeout), limit);
  if (!sent) return sent;
  const auto now = base::now();
  cut_ = Deadline::after(now, time.cut.value_or(time.server_timeout + late_for_waiter));
  too_soon_ = Deadline::after(now, time.server_timeout / 2);
  blocked_ = true;
  return sent;
}

void BlockingWait::unblock() {
  // A command would queue behind the BLPOP.
  if (blocked_) client_.drop();
  blocked_ = false;
}

Turn BlockingWait::sleep(const std::string& mailbox, const Queued& place, const CallLimit& limit) {
  if (!blocked_) {
    auto time = wait_time_for(place);
    const auto now = base::now();
    // The server ends this sleep: if we did, a notice on its way would be lost. A foreign holder is
    // looked at often.
    const bool is_foreign = place.holder && place.holder->kind == Holder::Kind::foreign;
    const auto look = limit.news_by.earlier_by(server_tick);
    if (!is_foreign && !look.passed(now)) {
      time.server_timeout = std::min(time.server_timeout, look.left(now));
    }
    const auto blocked = block(mailbox, time, limit);
    if (!blocked && ended(limit)) return StillWaiting{};
    if (!blocked) return ClaimAgain{blocked.error().why};
  }
  auto answer = client_.receive(limit.at_most(cut_));
  // We may have been stopped: the time is over, and the answer, perhaps a notice, is there.
  if (answer && !*answer && cut_.passed(base::now())) {
    answer = client_.receive({Deadline::at(base::now())});
  }
  if (answer && !*answer) {
    if (cut_.passed(base::now())) return ClaimAgain{};
    return StillWaiting{};
  }
  blocked_ = false;
  if (!answer) return ClaimAgain{answer.error().why};
  const Reply& reply = **answer;
  if (reply.is_error()) {
    auto fault = client_.fault_in(reply);
    client_.drop();
    // A claim does not reveal that this client may not block. All other errors, such as UNBLOCKED
    // or MOVED, are resolved by the next claim, or persist while a slot moves and our position is
    // here but our mailbox there.
    if (fault.kind == Fault::Kind::denied) return fault;
    return ClaimAgain{std::move(fault.why)};
  }
  const std::string_view message = reply[1].text();
  if (auto notice = rules::notice_in(message)) return *std::move(notice);
  if (message == "next" && block(mailbox, {second_look, std::nullopt}, limit)) {
    return StillWaiting{};
  }
  if (message.empty() && !too_soon_.passed(base::now())) {
    return ClaimAgain{"a blocking read came back empty before its time"};
  }
  return ClaimAgain{};
}

}  // namespace store::redis
