#include "hold/renewer.hpp"

#include <atomic>
#include <string>
#include <system_error>
#include <utility>

#include "base/log.hpp"
#include "os/mailbox.hpp"

namespace hold {
namespace {

using store::Deadline;

// A job that runs longer than this is worth a second connection for notices.
constexpr base::Millis worth_listening{1'000};
// To connect for that before a refresh is due. If it fails, the next try is a second later.
constexpr base::Millis to_connect{20};
// If the machine has no spare thread or descriptor, the job may be about to free some.
constexpr base::Millis retry_without_resources{200};
// The shortest allowed silence of the main thread, which gives a sign with each refresh.
constexpr base::Millis least_patience{1'000};
constexpr base::Millis look_again{100};

base::Millis patience_of(const HeldLocks& locks) {
  base::Millis longest = least_patience;
  for (const auto& lease : locks.leases()) longest = std::max(longest, lease.ttl.length());
  return longest;
}

}  // namespace

/// The thread's work, and the state that it shares with its owner: three mailboxes and the signs of
/// life. The rest belongs to the thread from begin() until it has posted Finished, and to the owner
/// before and after.
class Renewer::Watch {
 public:
  struct Order {};
  struct Finished {};

  explicit Watch(HeldLocks locks) : patience_{patience_of(locks)}, locks_{std::move(locks)} {}

  void run(Deadline listen_at);
  void step(Deadline listen_at);
  void watch_over(pid_t guardian) { guardian_ = guardian; }
  void note_alive(base::Moment now, Deadline job_until);
  std::vector<ReturnedLock> give_back() { return std::move(locks_).give_back(); }

  os::Mailbox<News> news;
  os::Mailbox<Order> orders;
  os::Mailbox<Finished> finished;

 private:
  [[nodiscard]] bool is_abandoned(base::Moment now) const;

  // Not a mutex: a debugger may stop the main thread while it holds one.
  std::atomic<base::Moment> job_until_{Deadline::never().moment()};
  std::atomic<base::Moment> seen_at_{base::now()};
  base::Millis patience_;
  pid_t guardian_ = 0;
  HeldLocks locks_;
};

void Renewer::Watch::note_alive(base::Moment now, Deadline job_until) {
  seen_at_ = now;
  job_until_ = job_until.moment();
}

bool Renewer::Watch::is_abandoned(base::Moment now) const {
  if (!Deadline::after(seen_at_, patience_).passed(now)) return false;
  return Deadline::at(job_until_).passed(now) || (guardian_ != 0 && os::has_ended(guardian_));
}

void Renewer::Watch::run(Deadline listen_at) {
  while (!orders.take()) {
    try {
      step(listen_at);
    } catch (const std::system_error& error) {
      news.post(Trouble{error.what()});
      os::wait_any({orders.descriptor()}, Deadline::after(base::now(), retry_without_resources));
    }
  }
  finished.post({});
}

void Renewer::Watch::step(Deadline listen_at) {
  const auto now = base::now();
  if (is_abandoned(now)) {
    os::wait_any({orders.descriptor()}, Deadline::after(now, look_again));
    return;
  }
  const Deadline due = locks_.due();
  const bool refresh_first = due.earlier_by(to_connect).passed(now);
  const Deadline listen_due =
      refresh_first ? Deadline::never() : std::max(listen_at, locks_.listen_due());
  if (due.passed(now)) {
    news.post(locks_.refresh(orders.descriptor()));
  } else if (listen_due.passed(now)) {
    locks_.listen(orders.descriptor());
  } else {
    auto descriptors = locks_.descriptors();
    descriptors.push_back(orders.descriptor());
    os::wait_any(descriptors, std::min(due, listen_due));
  }
  // Also after listen(): a store that subscribed again may have news without a readable descriptor.
  while (const auto heard = locks_.hear()) news.post(*heard);
}

Renewer::Renewer(HeldLocks locks)
    : listen_at_{Deadline::after(base::now(), worth_listening)},
      begin_at_{locks.empty() ? Deadline::never() : std::min(locks.due(), listen_at_)} {
  watch_ = std::make_shared<Watch>(std::move(locks));
}

Renewer::~Renewer() {
  if (!thread_.joinable()) return;
  try {
    (void)stop(Deadline::after(base::now(), Held::longest_last_word));
  } catch (...) {
    thread_.detach();  // the leases end by themselves
  }
}

void Renewer::begin() {
  auto thread =
      os::Thread::start([watch = watch_, listen_at = listen_at_] { watch->run(listen_at); });
  if (thread) {
    thread_ = std::move(*thread);
    begin_at_ = Deadline::never();
    return;
  }
  begin_at_ = Deadline::after(base::now(), retry_without_resources);
  const std::string why = "cannot refresh the lease: " + thread.error().text();
  if (!std::exchange(said_, true)) base::log::error("{}; trying again", why);
  watch_->news.post(Trouble{why});
}

void Renewer::watch_over(pid_t guardian) {
  watch_->watch_over(guardian);
}

void Renewer::note_alive(base::Moment now, Deadline job_until) {
  watch_->note_alive(now, job_until);
}

int Renewer::descriptor() const {
  return watch_->news.descriptor();
}

std::optional<News> Renewer::take() {
  return watch_->news.take();
}

Handback Renewer::stop(Deadline deadline) {
  if (thread_.joinable()) {
    watch_->orders.post({});
    os::wait_any({watch_->finished.descriptor()}, deadline);
    if (!watch_->finished.take()) {
      thread_.detach();
      return Unreachable{};
    }
    thread_.join();
  }
  return watch_->give_back();
}

}  // namespace hold
