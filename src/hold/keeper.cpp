#include "hold/keeper.hpp"

#include "base/log.hpp"
#include "base/match.hpp"
#include "hold/pace.hpp"
#include "os/mailbox.hpp"

namespace hold {
namespace {

// A job that outlives this is worth a second connection to hear that its lock was taken away.
constexpr base::Millis worth_listening{1'000};

struct Order {};
struct Finished {};

}  // namespace

/// What the thread does, and what it shares with its owner: three mailboxes. The rest belongs to
/// the thread from begin() until it posted Finished, and to the owner before and after.
class Keeper::Watch {
 public:
  explicit Watch(Held held)
      : held_{std::move(held)}, pace_{held_.lease().ttl, held_.lease().asked_at()} {}

  void run();
  Kept result() && {
    if (lost_) return TakenAway{std::move(held_), std::move(notice_)};
    return StillHeld{std::move(held_)};
  }

  os::Mailbox<News> news;
  os::Mailbox<Order> orders;
  os::Mailbox<Finished> finished;

 private:
  void listen();
  void hear();
  void refresh();
  void lose(std::string why);

  Held held_;
  Pace pace_;
  std::unique_ptr<store::Listener> listener_;
  bool lost_ = false;
  std::optional<store::Notice> notice_;
};

void Keeper::Watch::run() {
  const auto listen_at = store::Deadline::after(held_.lease().asked_at(), worth_listening);
  while (!orders.take()) {
    const auto now = base::now();
    if (lost_) {
      os::wait_any({orders.descriptor()}, store::Deadline::never());
    } else if (pace_.next().passed(now)) {
      refresh();
    } else if ((listener_ ? listener_->due() : listen_at).passed(now)) {
      listen();
    } else {
      const auto listen_due = listener_ ? listener_->due() : listen_at;
      os::wait_any({orders.descriptor(), listener_ ? listener_->descriptor() : -1},
                   std::min(pace_.next(), listen_due));
      if (listener_) hear();
    }
  }
  finished.post({});
}

void Keeper::Watch::listen() {
  if (!listener_) listener_ = held_.listener();
  // Connecting must not make a refresh late.
  listener_->listen({pace_.next(), orders.descriptor()});
}

void Keeper::Watch::hear() {
  notice_ = listener_->take();
  if (notice_) lose(notice_->why);
}

void Keeper::Watch::refresh() {
  const auto until = store::Deadline::after(base::now(), pace_.answer_time());
  base::match(
      held_.renew({until, orders.descriptor()}),
      [&](const store::Renewed& renewed) {
        pace_.succeeded(held_.lease().asked_at());
        news.post(Extended{renewed.valid_until});
      },
      [&](const store::NotOurs& not_ours) { lose(not_ours.why); },
      [&](const store::Fault& fault) {
        pace_.failed(base::now());
        base::log::detail("refreshing the lease: {}; trying again", fault.why);
        news.post(Trouble{fault.why});
      });
}

void Keeper::Watch::lose(std::string why) {
  lost_ = true;
  listener_.reset();
  news.post(Lost{std::move(why)});
}

// Nothing is due before a third of the TTL, and nobody listens before a second has passed.
Keeper::Keeper(Held held)
    : begin_at_{store::Deadline::after(held.lease().asked_at(),
                                       std::min(held.lease().ttl.length() / 4, worth_listening))} {
  watch_ = std::make_shared<Watch>(std::move(held));
}

Keeper::~Keeper() {
  if (!thread_.joinable()) return;
  try {
    (void)stop(store::Deadline::after(base::now(), Held::last_patience));
  } catch (...) {
    thread_.detach();  // the lease ends by itself
  }
}

void Keeper::begin() {
  begin_at_ = store::Deadline::never();
  thread_ = std::thread{[watch = watch_] { watch->run(); }};
}

int Keeper::descriptor() const {
  return watch_->news.descriptor();
}

std::optional<News> Keeper::take() {
  return watch_->news.take();
}

Kept Keeper::stop(store::Deadline deadline) {
  if (thread_.joinable()) {
    watch_->orders.post({});
    os::wait_any({watch_->finished.descriptor()}, deadline);
    if (!watch_->finished.take()) {
      thread_.detach();
      return Unreachable{};
    }
    thread_.join();
  }
  return std::move(*watch_).result();
}

}  // namespace hold
