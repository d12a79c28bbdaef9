#include "store/redis/sleeper.hpp"

#include "store/redis/answers.hpp"
#include "store/redis/connection.hpp"

namespace store::redis {
namespace {

// A server whose timer is late by this much beyond its tick is taken for silent.
constexpr Millis late_server{2'000};
// Before a claim that may end like the last one.
constexpr Millis moment{100};

}  // namespace

bool Sleeper::fall_asleep(const std::string& mailbox, Nap nap, const CallLimit& limit) {
  if (link_.send(blocking_pop(mailbox, nap.server_timeout), limit)) return false;
  cut_ = Deadline::after(base::now(), nap.cut.value_or(nap.server_timeout + late_server));
  asleep_ = true;
  return true;
}

void Sleeper::wake_up() {
  // A command would queue behind the BLPOP.
  if (asleep_) link_.drop();
  asleep_ = false;
}

Turn Sleeper::sleep(const std::string& mailbox, const Queued& place, const CallLimit& limit) {
  if (!asleep_ && !fall_asleep(mailbox, nap_for(place), limit)) return ClaimAgain{};
  auto answer = link_.receive(limit.at_most(cut_));
  if (std::holds_alternative<std::monostate>(answer)) {
    if (cut_.passed(base::now())) return ClaimAgain{};
    return StillWaiting{};
  }
  asleep_ = false;
  const auto* reply = std::get_if<Reply>(&answer);
  if (reply == nullptr) return ClaimAgain{};
  if (reply->is_error()) {
    link_.drop();
    auto fault = classify(reply->text());
    // Who may not wait would otherwise claim again and again, as fast as the server answers. The
    // rest, such as UNBLOCKED or MOVED, shows or mends itself with the next claim; or does not
    // while a slot moves, in which our place is here, and our mailbox there.
    if (fault.kind == Fault::Kind::denied) return fault;
    const Deadline calm = Deadline::after(base::now(), moment);
    os::wait_any({limit.interrupt}, std::min(calm, limit.until));
    return ClaimAgain{};
  }
  const std::string_view message = (*reply)[1].text();
  if (auto notice = notice_in(message)) return *std::move(notice);
  if (message == "next" && fall_asleep(mailbox, {second_look, std::nullopt}, limit)) {
    return StillWaiting{};
  }
  return ClaimAgain{};
}

}  // namespace store::redis
