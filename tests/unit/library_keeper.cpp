// The thread of the library that refreshes many locks: who has its turn when, and who is told.
#include "library/keeper.hpp"

#include <doctest/doctest.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <mutex>
#include <system_error>
#include <thread>

#include "base/log.hpp"
#include "fake_store.hpp"

namespace unit::library_keeper {

namespace {

using namespace std::chrono_literals;
using base::Deadline;
using base::Millis;
using fake::Script;
using ::library::Keeper;
using ::library::Kept;

store::Renewal renewed(store::Ttl ttl) {
  return store::Renewed{store::validity(base::now(), ttl), base::now()};
}

/// Waits like a request to a server that answers after `time`.
store::Renewal answers_after(Millis time, store::Ttl ttl, const os::CallLimit& limit) {
  const auto asked_at = base::now();
  const auto answer = Deadline::after(asked_at, time);
  os::wait_any({limit.interrupt}, std::min(limit.until, answer));
  if (!answer.passed(base::now())) return store::Fault{store::Fault::Kind::silent, "cut"};
  return store::Renewed{store::validity(asked_at, ttl), asked_at};
}

/// A server that never answers.
store::Renewal hangs(const os::CallLimit& limit) {
  os::wait_any({limit.interrupt}, limit.until);
  return store::Fault{store::Fault::Kind::silent, "cut"};
}

store::Renewal taken_away() {
  return store::NotOurs{"the key has another holder"};
}

/// Held since `ago`, on a server that does as `script` says.
std::shared_ptr<Kept> kept(Script& script, const std::string& name, Millis ttl, Kept::Terms terms,
                           Millis ago = Millis{0}) {
  const auto claim = fake::claim(name, ttl);
  const auto asked = base::now() - ago;
  hold::HeldLocks locks;
  locks.add({std::make_unique<fake::Store>(script),
             {claim.name, claim.token, claim.ttl, store::validity(asked, claim.ttl), 7, asked}});
  return std::make_shared<Kept>(std::move(locks), std::move(terms));
}

/// A server that both threads ask, and that has no notices.
struct Server : Script {
  Server() {
    records = false;
    has_listener = false;
  }
};

/// A keeper whose losses are expected, and noted.
struct World {
  World() { base::log::set_level(base::log::Level::quiet); }
  ~World() { base::log::set_level(base::log::Level::normal); }
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  /// With that much of a lease as its grace.
  Kept::Terms noting(Millis grace) {
    return {grace, [this](const rlock::Loss&) { lost = true; }};
  }

  std::atomic<bool> lost{false};
  Keeper keeper{nullptr};
};

/// Four MiB for 64 calls, each with 64 KiB of its own. Returns how much.
std::size_t fill_stack(int calls) {  // NOLINT(misc-no-recursion): it is about the stack
  std::array<volatile char, std::size_t{64} * 1024> own;
  for (std::size_t i = 0; i < own.size(); i += 1'024) own[i] = 1;
  return own.size() * static_cast<std::size_t>(own[0]) + (calls > 1 ? fill_stack(calls - 1) : 0);
}

void give_back(Keeper& keeper, Kept& each) {
  (void)keeper.take_out(each, Deadline::after(base::now(), 1'000ms));
}

}  // namespace

TEST_CASE("a release does not wait for a callback that begins while it waits for a refresh") {
  World world;
  auto& keeper = world.keeper;
  Server script;
  script.has_listener = true;
  std::atomic<bool> asked{false};
  std::atomic<bool> called{false};
  script.renewing = [&](store::Ttl, const os::CallLimit&) -> store::Renewal {
    asked = true;
    std::this_thread::sleep_for(100ms);  // the answer has been read, and no cut can undo it
    return taken_away();
  };
  std::mutex mutex;
  std::unique_lock ours{mutex};
  const auto lock = kept(script, "a", 6'000ms,
                         {100ms,
                          [&](const rlock::Loss&) {
                            called = true;
                            const std::lock_guard guard{mutex};
                          }},
                         2'000ms);
  keeper.keep(lock);
  while (!asked) std::this_thread::sleep_for(1ms);
  const auto start = base::now();
  {
    const auto locks = keeper.take_out(*lock, Deadline::after(start, 300ms));
    CHECK(called);
  }
  CHECK(base::now() - start < 2'000ms);
  ours.unlock();
  keeper.await_told(*lock);
}

TEST_CASE("a callback may use as much of its stack as one in a program's own threads") {
  World world;
  auto& keeper = world.keeper;
  Server script;
  script.renewing = [](store::Ttl, const os::CallLimit&) { return taken_away(); };
  std::atomic<std::size_t> filled{0};
  const auto lock = kept(script, "a", 1'000ms,
                         {100ms, [&](const rlock::Loss&) { filled = fill_stack(64); }}, 500ms);
  keeper.keep(lock);
  while (filled == 0) std::this_thread::sleep_for(1ms);
  CHECK(filled == 64 * 64 * 1024);
  give_back(keeper, *lock);
}

TEST_CASE("a stream of short locks leaves a long one its turn") {
  World world;
  auto& keeper = world.keeper;
  Server script;
  std::atomic<int> cuts{0};
  script.renewing = [&](store::Ttl ttl, const os::CallLimit& limit) {
    auto answer = answers_after(60ms, ttl, limit);
    cuts += std::holds_alternative<store::Fault>(answer) ? 1 : 0;
    return answer;
  };
  const auto long_one = kept(script, "long", 3'000ms, world.noting(300ms), 900ms);
  keeper.keep(long_one);
  const auto until = base::now() + 3'000ms;
  while (base::now() < until && !world.lost) {
    const auto short_one = kept(script, "short", 900ms, world.noting(100ms));
    keeper.keep(short_one);
    give_back(keeper, *short_one);
    std::this_thread::sleep_for(25ms);  // the long one's turn may begin
  }
  CHECK_FALSE(world.lost);
  CHECK(cuts <= 2);  // of a machine that is busy
  give_back(keeper, *long_one);
}

TEST_CASE("a short lock is refreshed although a long one's server does not answer") {
  World world;
  auto& keeper = world.keeper;
  Server silent;
  silent.renewing = [](store::Ttl, const os::CallLimit& limit) { return hangs(limit); };
  Server answering;
  std::vector<std::shared_ptr<Kept>> locks;
  locks.push_back(kept(answering, "short", 900ms, world.noting(100ms)));
  for (int i = 0; i < 5; ++i) {
    locks.push_back(kept(silent, std::to_string(i), 30'000ms, world.noting(100ms), 9'990ms));
  }
  for (const auto& each : locks) keeper.keep(each);
  std::this_thread::sleep_for(3'000ms);
  CHECK_FALSE(world.lost);
  for (const auto& each : locks) give_back(keeper, *each);
}

TEST_CASE("no question takes longer than until another lock is to be told that it is lost") {
  World world;
  auto& keeper = world.keeper;
  Server busy;  // until both others are there
  std::atomic<bool> go{false};
  busy.renewing = [&](store::Ttl ttl, const os::CallLimit&) {
    while (!go) std::this_thread::sleep_for(1ms);
    return renewed(ttl);
  };
  Server silent;
  std::atomic<base::Moment> latest{base::Moment{}};
  silent.renewing = [&](store::Ttl, const os::CallLimit& limit) {
    if (latest.load() == base::Moment{}) latest = limit.until.moment();
    return hangs(limit);
  };
  const auto first = kept(busy, "first", 30'000ms, {100ms, {}}, 12'000ms);
  keeper.keep(first);
  const auto other = kept(silent, "other", 30'000ms, {100ms, {}}, 11'000ms);
  const auto dying = kept(silent, "dying", 600ms, world.noting(10ms), 565ms);
  const auto unsafe = dying->valid_until().earlier_by(10ms);
  keeper.keep(other);
  keeper.keep(dying);
  go = true;
  while (!world.lost) std::this_thread::sleep_for(1ms);
  CHECK(Deadline::at(latest) <= unsafe);
  for (const auto& each : {first, other, dying}) give_back(keeper, *each);
}

TEST_CASE("a lock is refreshed although no descriptor is left to listen with") {
  World world;
  auto& keeper = world.keeper;
  Server script;
  script.has_listener = true;
  std::atomic<int> tries{0};
  script.at_listener = [&] {
    ++tries;
    throw std::system_error{EMFILE, std::generic_category(), "a descriptor"};
  };
  const auto lock = kept(script, "a", 300ms, world.noting(50ms));
  keeper.keep(lock);
  std::this_thread::sleep_for(2'500ms);  // it begins to listen after one
  CHECK_FALSE(world.lost);
  CHECK(tries >= 1);
  CHECK(tries <= 2);
  give_back(keeper, *lock);
}

TEST_CASE("a refresh without a descriptor is tried again, at its pace") {
  World world;
  auto& keeper = world.keeper;
  Server script;
  std::atomic<int> tries{0};
  std::array<std::atomic<base::Moment>, 3> asked_at{};
  script.renewing = [&](store::Ttl ttl, const os::CallLimit&) {
    if (tries < 3) asked_at.at(static_cast<std::size_t>(tries)) = base::now();
    if (++tries < 3) throw std::system_error{EMFILE, std::generic_category(), "a descriptor"};
    return renewed(ttl);
  };
  const auto lock = kept(script, "a", 3'000ms, world.noting(100ms), 1'000ms);
  keeper.keep(lock);
  std::this_thread::sleep_for(900ms);
  CHECK(tries == 3);
  CHECK(asked_at[1].load() - asked_at[0].load() >= 50ms);
  CHECK(asked_at[2].load() - asked_at[1].load() >= 100ms);
  std::this_thread::sleep_for(1'500ms);
  CHECK_FALSE(world.lost);
  give_back(keeper, *lock);
}

TEST_CASE("an object that a callback holds may end in it, and use another lock of that server") {
  World world;
  auto& keeper = world.keeper;
  Server script;
  script.renewing = [](store::Ttl, const os::CallLimit&) { return taken_away(); };
  const auto other = kept(script, "other", 60'000ms, {100ms, {}});
  keeper.keep(other);
  std::atomic<bool> ended{false};
  // Releases the other lock when its last owner ends: the callback that holds it.
  std::shared_ptr<void> last{nullptr, [&](void*) {
                               give_back(keeper, *other);
                               ended = true;
                             }};
  std::atomic<bool> ready{false};
  std::shared_ptr<Kept> lock;
  lock = kept(script, "a", 6'000ms,
              {100ms,
               [&, held = std::move(last)](const rlock::Loss&) {
                 while (!ready) std::this_thread::sleep_for(1ms);
                 give_back(keeper, *lock);
                 lock.reset();
               }},
              2'000ms);
  keeper.keep(lock);
  ready = true;
  for (int i = 0; i < 500 && !ended; ++i) std::this_thread::sleep_for(10ms);
  CHECK(ended);
}

}  // namespace unit::library_keeper
