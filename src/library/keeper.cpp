#include "library/keeper.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <iterator>
#include <map>
#include <system_error>
#include <tuple>
#include <utility>
#include <variant>

#include "base/log.hpp"
#include "base/result.hpp"
#include "base/text.hpp"
#include "os/per_process.hpp"

namespace library {

using store::Deadline;
using store::Millis;

namespace {

// A lock that is held for longer is worth a connection for notices.
constexpr Millis worth_listening{1'000};
// The least time for a refresh that has failed before, however soon another one is due.
constexpr Millis least_try{25};
// One look at all locks finds what is due within this time: with a thousand locks it takes as long
// as a refresh.
constexpr Millis look_serves{20};
// A connection may be dead without a sign, and a lock with a shorter lease may come while we wait.
// The next try can take longer, for a slow server.
constexpr Millis longest_first_try{1'000};
// If no descriptor is left, somebody may be about to close some.
constexpr Millis retry_without_resources{20};
// Round trips of a refresh that takes longer than usual, and of one that has to connect first: TCP,
// TLS, a password, a database, a script that the server does not know.
constexpr int round_trips = 4;
constexpr int round_trips_to_connect = 8;

/// Which keeper's thread this is. A child that is forked in it is not one.
thread_local struct {
  const Keeper* keeper = nullptr;
  std::uint64_t process = 0;
} own;

const Keeper* own_keeper() {
  return own.keeper != nullptr && own.process == os::process_number() ? own.keeper : nullptr;
}

}  // namespace

// ---- locks that are held ----

Kept::Kept(hold::HeldLocks locks, Terms terms)
    : locks_{std::move(locks)},
      listen_at_{Deadline::after(base::now(), worth_listening)},
      terms_{std::move(terms)},
      valid_until_{locks_.valid_until().moment()} {}

std::optional<rlock::Loss> Kept::loss() const {
  const std::lock_guard guard{mutex_};
  return loss_;
}

int Kept::descriptor() const {
  const std::lock_guard guard{mutex_};
  if (told_) return told_->descriptor();
  try {
    auto made = std::make_unique<os::Mailbox<Told>>();
    if (loss_) made->post({});
    told_ = std::move(made);
    return told_->descriptor();
  } catch (const std::system_error&) {
    return -1;
  }
}

Deadline Kept::listen_due() const {
  return std::max(listen_at_, locks_.listen_due());
}

Deadline Kept::unsafe_from() const {
  if (is_over_) return Deadline::never();
  return locks_.valid_until().earlier_by(terms_.grace);
}

Deadline Kept::turn_by(base::Moment now) const {
  if (in_trouble_) return Deadline::never();
  const auto unsafe = unsafe_from();
  if (unsafe.is_never()) return unsafe;
  return std::max(locks_.due(), Deadline::at(now + (unsafe.moment() - now) / 2));
}

Deadline Kept::due() const {
  return std::min({locks_.due(), listen_due(), unsafe_from()});
}

void Kept::note(const hold::News& news) {
  const auto named = [](const store::LockName& name) { return base::printable(name.text()); };
  base::match(
      news,
      [&](const hold::Extended& extended) {
        if (!is_over_) valid_until_ = extended.valid_until.moment();
        in_trouble_ = false;
      },
      [&](const hold::Trouble&) { in_trouble_ = true; },
      [&](const hold::Lost& lost) {
        lose({rlock::Loss::Kind::gone,
              fmt::format("lost the lock '{}': {}", named(lost.name), lost.why)});
      },
      [&](const hold::AskedToStop& asked) {
        lose({rlock::Loss::Kind::cancelled,
              fmt::format("asked to release '{}': {}", named(asked.name), asked.why)});
      });
}

void Kept::lose(const rlock::Loss& loss) {
  if (is_over_) return;
  const bool is_over = loss.kind != rlock::Loss::Kind::cancelled;
  {
    const std::lock_guard guard{mutex_};
    if (loss_ && !is_over) return;
    if (told_ && !loss_) told_->post({});
    loss_ = loss;
  }
  is_over_ = is_over;
  if (is_over) valid_until_ = store::Moment{};
  base::log::Event{"lost"}.notice("{}", loss.text);
  lost_.request_stop();
  // It must not throw: nobody could be told.
  const auto call = [&]() noexcept { terms_.on_lost(loss); };
  if (terms_.on_lost) call();
}

// ---- the thread ----

Keeper::~Keeper() {
  try {
    const std::lock_guard guard{mutex_};
    ends_ = true;
    wakes_.post({});
  } catch (const std::exception&) {
    std::abort();  // nobody can end the thread, and it may not outlive us
  }
  if (thread_.joinable()) thread_.join();
}

void Keeper::keep(std::shared_ptr<Kept> kept) {
  const std::lock_guard guard{mutex_};
  if (!thread_.joinable()) {
    const base::log::ScopedSink scope{sink_};
    auto thread = os::Thread::start([this] { run(); }, os::Thread::usual_stack);
    if (!thread) os::fail("starting a thread", thread.error().number);
    thread_ = *std::move(thread);
  }
  if (kept->due() < sleeps_until_) {
    // To wake the thread now would cost more than the rest of an acquisition.
    sleeps_until_ = kept->due();
    alarm_.set(sleeps_until_);
  }
  if (is_asking() && kept->unsafe_from() < asks_until_) hurry(kept->turn_by(base::now()));
  all_.push_back(std::move(kept));
  round_ = {};
}

hold::HeldLocks Keeper::take_out(Kept& kept, Deadline at_most) {
  Guard guard{mutex_};
  const auto is_it = [&](const auto& each) { return each.get() == &kept; };
  std::erase_if(all_, is_it);
  std::erase_if(round_.due, is_it);
  // The thread itself is between two steps: it tells of the loss.
  if (!is_this_thread() && busy_with_ == &kept) {
    if (is_asking()) hurry(Deadline::at({}));
    idle_.wait(guard, [&] { return busy_with_ != &kept || telling_; });
    idle_.wait_for(guard, at_most.left(base::now()), [&] { return busy_with_ != &kept; });
  }
  return std::move(kept.locks_);
}

void Keeper::await_told(const Kept& kept) {
  if (is_in_one()) return;
  Guard guard{mutex_};
  idle_.wait(guard, [&] { return busy_with_ != &kept; });
}

bool Keeper::is_in_one() {
  return own_keeper() != nullptr;
}

bool Keeper::is_this_thread() const {
  return own_keeper() == this;
}

void Keeper::hurry(Deadline until) {
  if (asks_until_ <= until) return;
  asks_until_ = until;
  limit_.set(until);
}

void Keeper::run() {
  own = {this, os::process_number()};
  Guard guard{mutex_};
  while (!ends_) {
    try {
      step(guard);
    } catch (const std::system_error& error) {
      if (!guard.owns_lock()) guard.lock();
      busy_with_ = nullptr;
      telling_ = false;
      idle_.notify_all();
      guard.unlock();
      base::log::Event{"refresh-failed"}.notice("cannot refresh: {}; trying again", error.what());
      guard.lock();
      idle_.wait_for(guard, retry_without_resources);
    }
  }
}

void Keeper::look(base::Moment now) {
  round_ = {.until = Deadline::after(now, look_serves)};
  for (const auto& each : all_) {
    round_.unsafe = std::min(round_.unsafe, each->unsafe_from());
    const auto turn = each->turn_by(now);
    if (turn < round_.turn) {
      round_.turn_of_others = std::exchange(round_.turn, turn);
      round_.turn_is_of = each.get();
    } else {
      round_.turn_of_others = std::min(round_.turn_of_others, turn);
    }
    const auto due = each->due();
    round_.next = std::min(round_.next, due);
    if (due <= round_.until) round_.due.push_back(each);
  }
  // Those that a silent server delays come after those that it does not.
  std::sort(round_.due.begin(), round_.due.end(), [](const auto& one, const auto& other) {
    const auto rank = [](const Kept& kept) { return std::tuple{kept.in_trouble_, kept.due()}; };
    return rank(*one) > rank(*other);
  });
}

void Keeper::step(Guard& guard) {
  const auto now = base::now();
  if (round_.due.empty() || round_.until.passed(now) || round_.unsafe.passed(now)) {
    if (unheard_) return hear(guard);
    look(now);
  }
  if (round_.unsafe.passed(now)) return tell_unsafe(now, guard);
  if (!round_.next.passed(now)) {
    round_.due.clear();
    return sleep(round_.next, guard);
  }
  auto first = std::move(round_.due.back());
  round_.due.pop_back();
  act_for(first, guard);
  let_go(std::move(first), guard);
}

Deadline Keeper::time_for(const Kept& kept) const {
  const auto now = base::now();
  const auto usual = slowest_ * (failing_ ? round_trips_to_connect : round_trips);
  auto others = round_.turn_is_of == &kept ? round_.turn_of_others : round_.turn;
  if (failing_) {
    others = Deadline::after(now, hold::Pace::longest_answer);
    for (const auto& each : all_) {
      if (each.get() != &kept && !each->in_trouble_) others = std::min(others, each->locks_.due());
    }
  }
  auto limit = std::max(others, Deadline::after(now, std::max(least_try, usual)));
  if (!failing_) {
    limit = std::min(limit, Deadline::after(now, std::max(longest_first_try, usual)));
  }
  return std::min(round_.unsafe, limit);
}

void Keeper::note_answer(bool came, Millis after) {
  failing_ = !came;
  if (came) slowest_ = std::max(after, slowest_ - slowest_ / 8);
}

template <class Tell>
void Keeper::tell(const std::shared_ptr<Kept>& kept, Guard& guard, const Tell& tell_it) {
  busy_with_ = kept.get();
  telling_ = true;
  idle_.notify_all();
  guard.unlock();
  tell_it();
  guard.lock();
  telling_ = false;
  busy_with_ = nullptr;
  idle_.notify_all();
}

void Keeper::tell_unsafe(base::Moment now, Guard& guard) {
  std::vector<std::shared_ptr<Kept>> unsafe;
  std::copy_if(all_.begin(), all_.end(), std::back_inserter(unsafe),
               [&](const auto& each) { return each->unsafe_from().passed(now); });
  for (const auto& kept : unsafe) {
    // It may have been taken out while another was told.
    if (kept->locks_.empty()) continue;
    tell(kept, guard, [&] {
      kept->lose(
          {rlock::Loss::Kind::unsafe, "the lease could not be refreshed and is about to end"});
    });
  }
  let_go(std::move(unsafe), guard);
}

template <class Owners>
void Keeper::let_go(Owners owners, Guard& guard) {
  guard.unlock();
  owners = {};
  guard.lock();
}

void Keeper::act_for(const std::shared_ptr<Kept>& kept, Guard& guard) {
  const auto now = base::now();
  const bool refresh = kept->locks_.due().passed(now + look_serves);
  const auto at_most = asks_until_ = time_for(*kept);
  std::optional<hold::News> news;
  busy_with_ = kept.get();
  kept->hear_again_ = true;
  unheard_ = true;
  limit_.set(Deadline::never());
  guard.unlock();
  if (refresh) {
    news = kept->locks_.refresh(limit_.descriptor(), at_most);
  } else {
    kept->locks_.listen(limit_.descriptor(), at_most);
  }
  guard.lock();
  if (news) {
    const bool came = !std::holds_alternative<hold::Trouble>(*news);
    note_answer(came, std::chrono::ceil<Millis>(base::now() - now));
    const bool is_loss = came && !std::holds_alternative<hold::Extended>(*news);
    if (is_loss) return tell(kept, guard, [&] { kept->note(*news); });
    kept->note(*news);
  }
  busy_with_ = nullptr;
  idle_.notify_all();
}

std::vector<int> Keeper::listeners() const {
  std::vector<int> all;
  for (const auto& each : all_) {
    for (const int descriptor : each->locks_.descriptors()) all.push_back(descriptor);
  }
  // Many locks can have one.
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
  return all;
}

void Keeper::hear(Guard& guard) {
  unheard_ = false;
  std::map<int, bool> readable;
  const auto may_have_news = [&](const Kept& kept) {
    for (const int descriptor : kept.locks_.descriptors()) {
      const auto [known, is_new] = readable.try_emplace(descriptor);
      if (is_new) known->second = os::is_readable(descriptor);
      if (known->second) return true;
    }
    return false;
  };
  std::vector<std::shared_ptr<Kept>> some;
  for (const auto& each : all_) {
    if (each->hear_again_ || may_have_news(*each)) some.push_back(each);
  }
  for (const auto& kept : some) {
    // Telling of a loss gave the mutex away: it may have been taken out, and have no locks.
    const auto news = kept->locks_.hear();
    kept->hear_again_ = false;
    if (news) tell(kept, guard, [&] { kept->note(*news); });
  }
  let_go(std::move(some), guard);
}

void Keeper::sleep(Deadline until, Guard& guard) {
  auto descriptors = listeners();
  descriptors.push_back(wakes_.descriptor());
  alarm_.set(until);
  descriptors.push_back(alarm_.descriptor());
  sleeps_until_ = until;
  guard.unlock();
  os::wait_any(descriptors, Deadline::never());
  guard.lock();
  sleeps_until_ = Deadline::at({});
  while (wakes_.take()) {
  }
  hear(guard);
}

}  // namespace library
