// The lock for C++ programs, on a directory as its server: what its header promises.
#include "rlock/rlock.hpp"

#include <doctest/doctest.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "store/backend.hpp"

#ifdef __SANITIZE_THREAD__
/// A child after fork(2) takes locks here, which begins a thread.
extern "C" const char* __tsan_default_options() {  // NOLINT: its name
  return "die_after_fork=0";
}
#endif

namespace unit::library {

using namespace std::chrono_literals;

namespace {

/// A server of its own, for one test.
class Place {
 public:
  Place() {
    std::string pattern = std::filesystem::temp_directory_path() / "library-XXXXXX";
    REQUIRE(::mkdtemp(pattern.data()) != nullptr);
    path_ = pattern;
  }
  ~Place() { std::filesystem::remove_all(path_); }
  Place(const Place&) = delete;
  Place& operator=(const Place&) = delete;

  [[nodiscard]] std::string url() const { return "file:" + path_; }
  [[nodiscard]] std::unique_ptr<store::LockAdmin> admin() const {
    return store::open_admin(*store::parse_server(store::ServerUrl{url()}));
  }
  [[nodiscard]] store::LockReport report(const char* key) const {
    auto report = admin()->inspect(*store::LockName::from(key), limit());
    REQUIRE(report);
    return *std::move(report);
  }
  [[nodiscard]] std::vector<store::Token> holders(const char* key) const {
    std::vector<store::Token> all;
    for (const auto& each : report(key).holders) {
      all.push_back(store::Token::foreign(each.holder.token));
    }
    return all;
  }
  static store::CallLimit limit() {
    return {base::Deadline::after(base::now(), base::Millis{5'000})};
  }

 private:
  std::string path_;
};

bool wait_for(const std::stop_token& token) {
  for (int i = 0; i < 500 && !token.stop_requested(); ++i) std::this_thread::sleep_for(10ms);
  return token.stop_requested();
}

std::size_t threads() {
  const auto tasks = std::filesystem::directory_iterator{"/proc/self/task"};
  return static_cast<std::size_t>(std::distance(begin(tasks), end(tasks)));
}

}  // namespace

TEST_CASE("a lock excludes another, and its release lets that in") {
  const Place place;
  const rlock::Server server{place.url(), {.label = "first"}};
  auto lock = rlock::try_acquire(server, "a", {.reason = "a test"});
  REQUIRE(lock);
  CHECK(lock->fence() > 0);
  CHECK(lock->fence("a") == lock->fence());
  CHECK(lock->fence("b") == 0);
  CHECK(lock->token().find("/first#") != std::string::npos);
  CHECK_FALSE(lock->lost().stop_requested());
  CHECK_FALSE(lock->loss());

  const auto second = rlock::try_acquire(rlock::Server{place.url()}, "a");
  REQUIRE_FALSE(second);
  CHECK(second.failure().reason == rlock::Reason::busy);
  CHECK(second.failure().key == "a");
  REQUIRE(second.failure().holder);
  CHECK(second.failure().holder->token == lock->token());
  CHECK(second.failure().holder->reason == "a test");

  CHECK(lock->release() == rlock::Released::yes);
  CHECK(lock->release() == rlock::Released::yes);
  CHECK(lock->valid_for() == rlock::Millis{0});
  auto third = rlock::try_acquire(server, "a");
  REQUIRE(third);
  CHECK(third->fence() > lock->fence());
}

TEST_CASE("a waiter gets the lock once it is free, in a program that goes on") {
  const Place place;
  const rlock::Server server{place.url()};
  auto lock = rlock::try_acquire(server, "a");
  REQUIRE(lock);
  std::atomic<bool> got{false};
  std::thread waiter{[&] {
    auto own = rlock::acquire(server, "a", {.wait = 20s});
    got = static_cast<bool>(own);
  }};
  while (place.report("a").waiters.empty()) std::this_thread::sleep_for(5ms);
  CHECK_FALSE(got);
  CHECK(lock->release() == rlock::Released::yes);
  waiter.join();
  CHECK(got);
}

TEST_CASE("a wait ends after its time, or when a stop is requested, and leaves no trace") {
  const Place place;
  const rlock::Server server{place.url()};
  auto lock = rlock::try_acquire(server, "a");
  REQUIRE(lock);
  const auto late = rlock::acquire(server, "a", {.wait = 50ms});
  REQUIRE_FALSE(late);
  CHECK(late.failure().reason == rlock::Reason::timed_out);

  std::stop_source stop;
  std::thread stopper{[&] {
    while (place.report("a").waiters.empty()) std::this_thread::sleep_for(5ms);
    stop.request_stop();
  }};
  const auto stopped = rlock::acquire(server, "a", {.stop = stop.get_token()});
  stopper.join();
  REQUIRE_FALSE(stopped);
  CHECK(stopped.failure().reason == rlock::Reason::stopped);
  CHECK(place.report("a").waiters.empty());
}

TEST_CASE("a lock that is taken away tells its token, its descriptor and its callback") {
  const Place place;
  const rlock::Server server{place.url()};
  std::atomic<int> told{0};
  auto lock = rlock::try_acquire(server, "a", {.on_lost = [&](const rlock::Loss& loss) {
                                   if (loss.kind == rlock::Loss::Kind::gone) ++told;
                                 }});
  REQUIRE(lock);
  pollfd descriptor{lock->descriptor(), POLLIN, 0};
  REQUIRE(descriptor.fd >= 0);
  CHECK(::poll(&descriptor, 1, 0) == 0);
  REQUIRE(place.admin()->force_release(*store::LockName::from("a"), place.holders("a"), "someone",
                                       Place::limit()));
  CHECK(wait_for(lock->lost()));
  CHECK(::poll(&descriptor, 1, 0) == 1);
  CHECK(told == 1);
  REQUIRE(lock->loss());
  CHECK(lock->loss()->text.find("someone") != std::string::npos);
  CHECK(lock->valid_for() == rlock::Millis{0});
  CHECK(lock->release() == rlock::Released::lost_before);
}

TEST_CASE("a lock that somebody cancels is held until it is released") {
  const Place place;
  const rlock::Server server{place.url()};
  auto lock = rlock::try_acquire(server, "a");
  REQUIRE(lock);
  const auto name = *store::LockName::from("a");
  const auto admin = place.admin();
  const auto asked =
      admin->ask_to_stop(name, place.holders("a"), "cancelled by someone", Place::limit());
  REQUIRE(asked);
  CHECK(*asked == 1);
  CHECK(wait_for(lock->lost()));
  REQUIRE(lock->loss());
  CHECK(lock->loss()->kind == rlock::Loss::Kind::cancelled);
  CHECK(place.holders("a").size() == 1);
  CHECK(lock->release() == rlock::Released::yes);
  CHECK(place.holders("a").empty());
}

TEST_CASE("one that is cancelled and then taken away says so, and is valid no longer") {
  const Place place;
  const rlock::Server server{place.url()};
  std::atomic<int> cancelled{0};
  std::atomic<int> gone{0};
  auto lock = rlock::try_acquire(server, "a",
                                 {.ttl = 1s, .on_lost = [&](const rlock::Loss& loss) {
                                    ++(loss.kind == rlock::Loss::Kind::gone ? gone : cancelled);
                                  }});
  REQUIRE(lock);
  const auto name = *store::LockName::from("a");
  REQUIRE(place.admin()->ask_to_stop(name, place.holders("a"), "x", Place::limit()));
  CHECK(wait_for(lock->lost()));
  CHECK(lock->valid_for() > rlock::Millis{0});
  REQUIRE(place.admin()->force_release(name, place.holders("a"), "someone", Place::limit()));
  for (int i = 0; i < 500 && gone == 0; ++i) std::this_thread::sleep_for(10ms);
  CHECK(cancelled == 1);
  CHECK(gone == 1);
  CHECK(lock->loss()->kind == rlock::Loss::Kind::gone);
  CHECK(lock->valid_for() == rlock::Millis{0});
  CHECK(lock->release() == rlock::Released::lost_before);
}

TEST_CASE("a callback that waits for the releasing thread does not keep it for ever") {
  const Place place;
  const rlock::Server server{place.url()};
  std::mutex mutex;
  std::unique_lock ours{mutex};
  std::atomic<bool> called{false};
  std::atomic<bool> returned{false};
  {
    auto lock = rlock::try_acquire(server, "a", {.on_lost = [&](const rlock::Loss&) {
                                     called = true;
                                     const std::lock_guard guard{mutex};
                                     returned = true;
                                   }});
    REQUIRE(lock);
    REQUIRE(place.admin()->ask_to_stop(*store::LockName::from("a"), place.holders("a"), "x",
                                       Place::limit()));
    // The token comes first: a callback may block.
    CHECK(wait_for(lock->lost()));
    while (!called) std::this_thread::sleep_for(1ms);
    const auto start = std::chrono::steady_clock::now();
    CHECK(lock->release() == rlock::Released::yes);
    CHECK(std::chrono::steady_clock::now() - start < 2s);
    CHECK_FALSE(returned);
    CHECK(place.holders("a").empty());
    ours.unlock();
  }
  CHECK(returned);  // the destructor waits for it
}

TEST_CASE("callbacks of two servers that release each other's locks both return") {
  const Place place;
  const Place elsewhere;
  const rlock::Server server{place.url()};
  const rlock::Server other{elsewhere.url()};
  std::mutex mutex;  // a callback may come before its lock has found its place
  std::optional<rlock::Lock> one;
  std::optional<rlock::Lock> two;
  std::atomic<int> called{0};
  std::atomic<int> returned{0};
  const auto callback = [&](std::optional<rlock::Lock>& lock) {
    return [&](const rlock::Loss&) {
      ++called;
      while (called < 2) std::this_thread::sleep_for(1ms);
      { const std::lock_guard both_are_there{mutex}; }
      lock->release();
      ++returned;
    };
  };
  auto first = rlock::try_acquire(server, "a", {.on_lost = callback(two)});
  auto second = rlock::try_acquire(other, "a", {.on_lost = callback(one)});
  REQUIRE(first);
  REQUIRE(second);
  {
    const std::lock_guard guard{mutex};
    one.emplace(std::move(*first));
    two.emplace(std::move(*second));
  }
  for (const auto* each : {&place, &elsewhere}) {
    REQUIRE(each->admin()->ask_to_stop(*store::LockName::from("a"), each->holders("a"), "x",
                                       Place::limit()));
  }
  for (int i = 0; i < 1'000 && returned < 2; ++i) std::this_thread::sleep_for(10ms);
  CHECK(returned == 2);
}

TEST_CASE("its callback may release it") {
  const Place place;
  const rlock::Server server{place.url()};
  std::mutex mutex;
  std::optional<rlock::Lock> lock;
  std::atomic<bool> released{false};
  auto acquired = rlock::try_acquire(server, "a", {.on_lost = [&](const rlock::Loss&) {
                                       const std::lock_guard guard{mutex};
                                       released = lock->release() == rlock::Released::yes;
                                     }});
  REQUIRE(acquired);
  std::stop_token lost;
  {
    const std::lock_guard guard{mutex};
    lock.emplace(std::move(*acquired));
    lost = lock->lost();
  }
  REQUIRE(place.admin()->ask_to_stop(*store::LockName::from("a"), place.holders("a"), "x",
                                     Place::limit()));
  CHECK(wait_for(lost));
  for (int i = 0; i < 500 && !released; ++i) std::this_thread::sleep_for(10ms);
  CHECK(released);
  CHECK(place.holders("a").empty());
}

TEST_CASE("all locks of a server have one thread, which ends with the last of them") {
  const Place place;
  const auto before = threads();
  {
    std::vector<rlock::Lock> locks;
    const rlock::Server server{place.url()};
    for (int i = 0; i < 100; ++i) {
      auto lock = rlock::try_acquire(server, "key" + std::to_string(i));
      REQUIRE(lock);
      locks.push_back(std::move(*lock));
    }
    CHECK(threads() == before + 1);
  }
  // The system lists a thread for a moment after it was joined.
  for (int i = 0; i < 500 && threads() != before; ++i) std::this_thread::sleep_for(10ms);
  CHECK(threads() == before);
}

TEST_CASE("several keys: all or none") {
  const Place place;
  const rlock::Server server{place.url()};
  auto one = rlock::try_acquire(server, "b");
  REQUIRE(one);
  const auto both = rlock::try_acquire(server, std::vector<std::string>{"a", "b"});
  REQUIRE_FALSE(both);
  CHECK(both.failure().key == "b");
  CHECK(place.holders("a").empty());
  one->release();
  const auto now = rlock::try_acquire(server, {"b", "a", "b"});
  REQUIRE(now);
  CHECK(now->fence("a") > 0);
  CHECK(now->fence("b") > 0);
  CHECK(now->fence() == now->fence("b"));
  CHECK(now->fence("a") != now->fence("b"));
}

TEST_CASE("readers go together, permits have numbers and names, and modes do not mix") {
  const Place place;
  const rlock::Server server{place.url()};
  const rlock::Options read{.mode = rlock::Mode::shared()};
  auto one = rlock::try_acquire(server, "a", read);
  auto other = rlock::try_acquire(server, "a", read);
  CHECK(one);
  CHECK(other);
  CHECK_FALSE(rlock::try_acquire(server, "a"));

  const rlock::Options license{.mode = rlock::Mode::one_of({"red", "blue"})};
  auto red = rlock::try_acquire(server, "license", license);
  auto blue = rlock::try_acquire(server, "license", license);
  REQUIRE(red);
  REQUIRE(blue);
  CHECK(red->permit() == 1);
  CHECK(red->resource() == "red");
  CHECK(blue->resource() == "blue");
  CHECK_FALSE(rlock::try_acquire(server, "license", license));
  auto only = rlock::try_acquire(server, "one", {.mode = rlock::Mode::one_permit_of(1)});
  REQUIRE(only);
  CHECK(only->permit() == 1);
  const auto mixed = rlock::try_acquire(server, "license");
  REQUIRE_FALSE(mixed);
  CHECK(mixed.failure().reason == rlock::Reason::incompatible);
}

TEST_CASE("a child after fork holds nothing, and takes nothing from its parent") {
  const Place place;
  const rlock::Server server{place.url()};
  auto lock = std::make_unique<rlock::Acquired>(rlock::try_acquire(server, "a"));
  REQUIRE(*lock);
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    int wrong = 0;
    if (!(*lock)->lost().stop_requested()) wrong |= 1;
    if ((*lock)->valid_for() != rlock::Millis{0}) wrong |= 2;
    if ((*lock)->release() != rlock::Released::lost_before) wrong |= 4;
    if (rlock::try_acquire(server, "a")) wrong |= 8;
    if (!rlock::try_acquire(server, "b")) wrong |= 16;
    lock.reset();
    ::_exit(wrong);
  }
  int status = -1;
  REQUIRE(::waitpid(child, &status, 0) == child);
  CHECK(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 0);
  CHECK_FALSE((*lock)->lost().stop_requested());
  CHECK(place.holders("a").size() == 1);
  CHECK((*lock)->release() == rlock::Released::yes);
}

TEST_CASE("work for a slot is done once, and again as long as it fails and may") {
  const Place place;
  const rlock::Server server{place.url()};
  int runs = 0;
  const auto failing = [&](rlock::Lock& lock) {
    CHECK(lock.attempt() == static_cast<unsigned>(runs) + 1);
    return ++runs == 1 ? 3 : 0;
  };
  const auto once = [&] {
    return rlock::run_once(server, "nightly", "2026-11-27", failing, {}, 1);
  };
  auto first = once();
  CHECK(first.kind == rlock::Once::Kind::ran);
  CHECK(first.code == 3);
  CHECK(once().code == 0);
  const auto third = once();
  CHECK(third.kind == rlock::Once::Kind::done_before);
  CHECK(runs == 2);

  const auto open = [&](const char* slot, const std::function<int(rlock::Lock&)>& work) {
    const auto end = rlock::run_once(server, "nightly", slot, work);
    CHECK(end.kind == rlock::Once::Kind::open);
    CHECK_FALSE(end.why.empty());
    CHECK(rlock::run_once(server, "nightly", slot, [](rlock::Lock&) { return 0; }).kind ==
          rlock::Once::Kind::ran);
  };
  open("cancelled", [&](rlock::Lock& lock) {
    REQUIRE(place.admin()->ask_to_stop(*store::LockName::from("nightly"), place.holders("nightly"),
                                       "x", Place::limit()));
    CHECK(wait_for(lock.lost()));
    return 0;
  });
  open("released", [](rlock::Lock& lock) {
    lock.release();
    return 0;
  });
  open("moved", [](rlock::Lock& lock) {
    const rlock::Lock taken{std::move(lock)};
    return 0;
  });

  const auto throws = [](rlock::Lock&) -> int { throw std::runtime_error{"x"}; };
  CHECK_THROWS_AS(rlock::run_once(server, "nightly", "other", throws), std::runtime_error);
  CHECK(place.holders("nightly").empty());
  CHECK(rlock::run_once(server, "nightly", "other", [](rlock::Lock&) { return 0; }).kind ==
        rlock::Once::Kind::ran);
}

TEST_CASE("mistakes are results, which name them and repeat no secret") {
  const Place place;
  const rlock::Server server{place.url()};
  const auto reason = [](const rlock::Acquired& acquired) {
    REQUIRE_FALSE(acquired);
    CHECK_FALSE(acquired.failure().text.empty());
    return acquired.failure().reason;
  };
  using rlock::Reason;
  CHECK(reason(rlock::try_acquire(server, "")) == Reason::misconfigured);
  CHECK(reason(rlock::try_acquire(server, std::vector<std::string>{})) == Reason::misconfigured);
  CHECK(reason(rlock::try_acquire(server, "a", {.ttl = 1ms})) == Reason::misconfigured);
  CHECK(reason(rlock::try_acquire(server, "a", {.mode = rlock::Mode::one_permit_of(0)})) ==
        Reason::misconfigured);
  CHECK(reason(rlock::try_acquire(server, "a", {.grace = 20s})) == Reason::misconfigured);
  CHECK(reason(rlock::try_acquire(server, "a", {.min_hold = -1ms})) == Reason::misconfigured);
  CHECK(reason(rlock::try_acquire(server, "a", {.min_hold = rlock::forever})) ==
        Reason::misconfigured);
  CHECK(reason(rlock::try_acquire(server, "a", {.mode = {.names = {"x"}}})) ==
        Reason::misconfigured);
  CHECK(reason(rlock::try_acquire(rlock::Server{place.url(), {.answer_time = 0ms}}, "a")) ==
        Reason::misconfigured);
  CHECK(rlock::run_once(server, "a", "slot", nullptr).kind == rlock::Once::Kind::failed);
  const rlock::Server garbled{"redis://user:SECRET@[::1"};
  const auto acquired = rlock::try_acquire(garbled, "a");
  CHECK(reason(acquired) == Reason::misconfigured);
  CHECK(acquired.failure().text.find("SECRET") == std::string::npos);
  CHECK(garbled.shown().find("SECRET") == std::string::npos);
  CHECK(reason(rlock::try_acquire(rlock::Server{"unix:///nowhere/socket"}, "a")) ==
        Reason::unreachable);
}

TEST_CASE("the umask of the process stays as it is, also while directories are made") {
  const Place place;
  std::atomic<bool> over{false};
  std::atomic<int> changes{0};
  const auto umask_now = [] {
    std::ifstream status{"/proc/self/status"};
    for (std::string word; status >> word;) {
      if (word == "Umask:" && status >> word) return word;
    }
    return std::string{};
  };
  const auto before = umask_now();
  REQUIRE_FALSE(before.empty());
  std::thread watcher{[&] {
    while (!over) changes += umask_now() == before ? 0 : 1;
  }};
  for (int i = 0; i < 200; ++i) {
    const rlock::Server server{place.url() + "/" + std::to_string(i)};
    CHECK(rlock::try_acquire(server, "a"));
  }
  over = true;
  watcher.join();
  CHECK(changes == 0);
}

TEST_CASE("its lines go to the hook alone") {
  const Place place;
  std::atomic<int> lines{0};
  const rlock::Server server{place.url(),
                             {.log =
                                  [&](const rlock::LogLine& line) {
                                    CHECK_FALSE(line.text.empty());
                                    ++lines;
                                  },
                              .log_up_to = rlock::LogLine::Severity::trace}};
  auto lock = rlock::try_acquire(server, "a");
  REQUIRE(lock);
  REQUIRE(place.admin()->ask_to_stop(*store::LockName::from("a"), place.holders("a"), "x",
                                     Place::limit()));
  CHECK(wait_for(lock->lost()));
  lock->release();
  CHECK(lines > 0);
}

}  // namespace unit::library
