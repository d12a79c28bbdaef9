#include "store/redis/redis_listener.hpp"

#include "store/redis/answers.hpp"
#include "store/redis/link.hpp"

namespace store::redis {
namespace {

// BLPOP comes back empty after this and is sent again: a connection that died unnoticed is found.
constexpr Millis sleep{60'000};
constexpr Millis late_server{5'000};
// Between attempts to connect: a refresh would find out the same, so there is no hurry.
constexpr Millis retry{1'000};
// After a redirection: nodes that disagree for a moment must not keep us busy.
constexpr Millis redirection{20};

class RedisListener final : public Listener {
 public:
  RedisListener(const RedisServer& server, std::string mailbox)
      : link_{server}, mailbox_{std::move(mailbox)}, due_{Deadline::at(base::now())} {}

  [[nodiscard]] int descriptor() const override { return link_.descriptor(); }
  [[nodiscard]] Deadline due() const override { return due_; }

  void listen(const CallLimit& limit) override {
    link_.drop();
    const bool failed = link_.send(blocking_pop(mailbox_, sleep), limit).has_value();
    due_ = Deadline::after(base::now(), failed ? retry : sleep + late_server);
  }

  std::optional<Notice> take() override {
    // Without a connection there is nothing to hear, and due() must not move on.
    if (link_.descriptor() < 0) return std::nullopt;
    const CallLimit at_once{Deadline::at(base::now())};
    auto answer = link_.receive(at_once);
    if (std::holds_alternative<std::monostate>(answer)) return std::nullopt;
    const auto* reply = std::get_if<Reply>(&answer);
    if (reply == nullptr || reply->is_error()) {
      const bool redirected = reply != nullptr && link_.follow(reply->text());
      if (!redirected) link_.leave();
      due_ = Deadline::after(base::now(), redirected ? redirection : retry);
      return std::nullopt;
    }
    auto notice = notice_in((*reply)[1].text());
    if (!notice) {  // asleep for a minute in vain, or a wake from when we were waiting
      const bool failed = link_.send(blocking_pop(mailbox_, sleep), at_once).has_value();
      due_ = Deadline::after(base::now(), failed ? retry : sleep + late_server);
    }
    return notice;
  }

 private:
  Link link_;
  std::string mailbox_;
  Deadline due_;
};

}  // namespace

std::unique_ptr<Listener> open_listener(const RedisServer& server, std::string mailbox) {
  return std::make_unique<RedisListener>(server, std::move(mailbox));
}

}  // namespace store::redis
