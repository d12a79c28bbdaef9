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
// BLPOP returns after this and is sent again, which reveals a dead connection.
constexpr Millis listening{60'000};
constexpr Millis late_for_listener{5'000};
// The pause between attempts to connect. No hurry: a refresh would find out the same.
constexpr Millis reconnect{1'000};
// The pause after a redirection, doubling up to `reconnect`: nodes that disagree must not keep us
// busy.
constexpr Millis redirection{20};
// How many waits may end at once before we pause: the mailbox can hold that many wakes from the
// time of our own wait.
constexpr int most_at_once = 16;

class RedisListener final : public Listener {
 public:
  RedisListener(const RedisServer& server, std::string mailbox)
      : client_{server}, mailbox_{std::move(mailbox)}, due_{Deadline::at(base::now())} {}

  [[nodiscard]] int descriptor() const override { return client_.descriptor(); }
  [[nodiscard]] Deadline due() const override { return due_; }

  void listen(const CallLimit& limit) override {
    client_.drop();
    block(limit);
  }

  std::optional<Notice> take() override {
    // Without a connection there are no notices, and due() must not move.
    if (client_.descriptor() < 0) return std::nullopt;
    const CallLimit at_once{Deadline::at(base::now())};
    auto answer = client_.receive(at_once);
    if (answer && !*answer) return std::nullopt;
    if (!answer || (*answer)->is_error()) {
      const bool redirected = answer && client_.follow((*answer)->text());
      if (!redirected) client_.leave();
      if (waited()) redirection_ = redirection;
      due_ = Deadline::after(base::now(), redirected ? redirection_ : reconnect);
      redirection_ = std::min(redirection_ * 2, reconnect);
      return std::nullopt;
    }
    auto notice = rules::notice_in((**answer)[1].text());
    if (notice) return notice;
    // A minute without an answer, or an old wake from our own wait. Otherwise, a server that
    // answers each wait at once would keep us asking as fast as it answers.
    at_once_ = waited() ? 0 : at_once_ + 1;
    if (at_once_ <= most_at_once) {
      block(at_once);
    } else {
      client_.drop();
      due_ = Deadline::after(base::now(), reconnect);
    }
    return std::nullopt;
  }

 private:
  void block(const CallLimit& limit) {
    const bool failed = !client_.send(blocking_pop(mailbox_, listening), limit);
    blocked_at_ = base::now();
    due_ = Deadline::after(blocked_at_, failed ? reconnect : listening + late_for_listener);
  }
  [[nodiscard]] bool waited() const { return base::now() - blocked_at_ >= reconnect; }

  Client client_;
  std::string mailbox_;
  Deadline due_;
  Moment blocked_at_{};
  Millis redirection_{redirection};
  int at_once_ = 0;
};

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
  auto sent = client_.send(blocking_pop(mailbox, time.server_timeout), limit);
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

std::unique_ptr<Listener> open_listener(const RedisServer& server, std::string mailbox) {
  return std::make_unique<RedisListener>(server, std::move(mailbox));
}

}  // namespace store::redis
