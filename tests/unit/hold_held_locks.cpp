// Keeping locks: the pace of refreshing, several locks, the release at the end.
#include "hold/held_locks.hpp"

#include <doctest/doctest.h>

#include <cerrno>
#include <new>
#include <system_error>

#include "fake_store.hpp"

namespace unit::hold_held_locks {

namespace {

using base::Deadline;
using base::Millis;
using base::Moment;
using fake::Script;
using hold::Held;
using hold::HeldLocks;
using store::Fault;
using Calls = std::vector<std::string>;

const Moment start{std::chrono::hours{1}};

/// Granted `ago`, with a TTL of 3 s.
Held held(Script& script, const std::string& name, Millis ago = Millis{0}) {
  const auto claim = fake::claim(name, Millis{3'000});
  const auto asked = base::now() - ago;
  return {std::make_unique<fake::Store>(script),
          {claim.name, claim.token, claim.ttl, store::validity(asked, claim.ttl), 7, asked}};
}
store::Notice notice(store::Notice::Kind kind) {
  return {kind, "by ann", "reply"};
}
os::CallLimit soon() {
  return {Deadline::after(base::now(), Millis{200})};
}

}  // namespace

TEST_CASE("a lease is refreshed every third of its TTL, reckoned from the last success") {
  hold::Pace pace{*store::Ttl::from(Millis{3'000}), start};
  CHECK(pace.next() == Deadline::at(start + Millis{1'000}));
  pace.succeeded(start + Millis{1'010});
  CHECK(pace.next() == Deadline::at(start + Millis{2'010}));
}

TEST_CASE("after a fault it is tried again after 50 ms, doubling, at most a tenth of the TTL") {
  hold::Pace pace{*store::Ttl::from(Millis{3'000}), start};
  for (const int wait : {50, 100, 200, 300, 300}) {
    pace.failed(start);
    CHECK(pace.next() == Deadline::at(start + Millis{wait}));
  }
  pace.succeeded(start);
  pace.failed(start);
  CHECK(pace.next() == Deadline::at(start + Millis{50}));
}

TEST_CASE("one refresh may take a sixth of the TTL, within 25 ms and 5 s") {
  const auto answer_time = [](int ttl) {
    return hold::Pace{*store::Ttl::from(Millis{ttl}), start}.answer_time().count();
  };
  CHECK(answer_time(100) == 25);
  CHECK(answer_time(3'000) == 500);
  CHECK(answer_time(60'000) == 5'000);
}

TEST_CASE("a held lock that is dropped is released; one that was moved or spent is not") {
  Script script;
  {
    Held one = held(script, "a");
    const Held other = std::move(one);
  }
  CHECK(script.calls == Calls{"release a"});
  {
    Held spent = held(script, "b");
    spent.give_up();
  }
  CHECK(script.calls == Calls{"release a"});
}

TEST_CASE("a release is tried again after a silent fault, whose success it may have been") {
  Script script;
  script.releases = {Fault{Fault::Kind::silent, ""}, store::NotOurs{""}};
  CHECK(std::holds_alternative<store::Released>(held(script, "a").release(soon())));
  CHECK(script.calls.size() == 2);

  script.releases = {Fault{Fault::Kind::unreachable, ""}, store::NotOurs{"gone"}};
  CHECK(std::holds_alternative<store::NotOurs>(held(script, "a").release(soon())));
}

TEST_CASE("the first try of a release leaves half of the time for another connection") {
  Script script;
  script.releases = {Fault{Fault::Kind::silent, ""}};
  const auto limit = soon();
  CHECK(std::holds_alternative<store::Released>(held(script, "a").release(limit)));
  REQUIRE(script.release_dues.size() == 2);
  CHECK(script.release_dues[0] <= Deadline::after(base::now(), Millis{100}));
  CHECK(script.release_dues[1] == limit.until);
}

TEST_CASE(
    "of several locks the first has all of the time, and each an even share once half is over") {
  const os::CallLimit all{Deadline::after(base::now(), Held::longest_last_word)};
  CHECK(hold::share_of(all, 4).until == all.until);
  const os::CallLimit rest{Deadline::after(base::now(), Millis{900})};
  CHECK(hold::share_of(rest, 3).until <= Deadline::after(base::now(), Millis{450}));
  CHECK(hold::share_of(rest, 1).until == rest.until);
}

TEST_CASE("a silent fault may have been the release, whatever fault came after it") {
  Script script;
  script.releases = {Fault{Fault::Kind::silent, ""}, Fault{Fault::Kind::unavailable, ""},
                     store::NotOurs{"gone"}};
  CHECK(std::holds_alternative<store::Released>(held(script, "a").release(soon())));
  CHECK(script.count("release a") == 3);
}

TEST_CASE("a release is not tried again where that will not help, nor after its time") {
  Script script;
  script.releases = {Fault{Fault::Kind::denied, ""}};
  CHECK(std::holds_alternative<Fault>(held(script, "a").release(soon())));
  CHECK(script.calls.size() == 1);
  script.releases = {Fault{Fault::Kind::silent, ""}};
  CHECK(std::holds_alternative<Fault>(
      held(script, "a").release({Deadline::at(base::now())}, {Millis{5}})));
  CHECK(script.calls == Calls{"release a", "keep a"});
}

TEST_CASE("the sender of a notice can be told while the lock is held, and once it is spent") {
  Script script;
  {
    Held one = held(script, "a");
    one.confirm_stopped(notice(store::Notice::Kind::stop), soon());
  }
  CHECK(script.calls == Calls{"confirm a", "release a"});
  Held spent = held(script, "b");
  spent.give_up();
  spent.confirm_stopped(notice(store::Notice::Kind::lost), soon());
  CHECK(script.calls == Calls{"confirm a", "release a", "confirm b"});
}

TEST_CASE("a machine without descriptors does not keep a lock that is dropped from being left") {
  Script script;
  script.at_call = [](const std::string& call) {
    if (call == "release a") throw std::system_error{EMFILE, std::generic_category()};
  };
  { const Held dropped = held(script, "a"); }
  CHECK(script.calls == Calls{"release a"});
  HeldLocks locks;
  locks.add(held(script, "a"));
  locks.add(held(script, "b"));
  std::move(locks).abandon();
  CHECK(script.calls == Calls{"release a", "release a", "release b"});
}

TEST_CASE("a machine that is broken otherwise ends it all, and the locks left are released") {
  Script script;
  script.at_call = [](const std::string& call) {
    if (call == "release a") throw std::bad_alloc{};
  };
  HeldLocks locks;
  locks.add(held(script, "a"));
  locks.add(held(script, "b"));
  CHECK_THROWS_AS(std::move(locks).abandon(), std::bad_alloc);
  CHECK(script.calls == Calls{"release a", "release b"});
}

TEST_CASE("no locks are never due and never end") {
  const HeldLocks none;
  CHECK(none.empty());
  CHECK(none.due().is_never());
  CHECK(none.listen_due().is_never());
  CHECK(none.valid_until().is_never());
}

TEST_CASE("of several locks the one that is due first is refreshed") {
  Script script;
  HeldLocks locks;
  locks.add(held(script, "a"));
  locks.add(held(script, "b", Millis{500}));
  const auto until = locks.valid_until();
  const auto news = locks.refresh(-1);
  CHECK(script.calls == Calls{"renew b"});
  CHECK(std::get<hold::Extended>(news).valid_until > until);
  CHECK(locks.due() == Deadline::at(locks.leases().front().asked_at + Millis{1'000}));
}

TEST_CASE("a lost lock is neither refreshed nor listened for, and does not end the lease") {
  Script script;
  HeldLocks locks;
  locks.add(held(script, "a", Millis{500}));
  locks.add(held(script, "b"));
  script.renewals = {store::NotOurs{"taken"}};
  const auto news = locks.refresh(-1);
  CHECK(std::get<hold::Lost>(news).name.text() == "a");
  CHECK(locks.valid_until() == locks.leases()[1].valid_until);
  locks.listen(-1);
  CHECK(script.calls == Calls{"renew a", "listen b"});
  const auto returned = std::move(locks).give_back();
  CHECK(returned[0].lost);
  CHECK_FALSE(returned[1].lost);
}

TEST_CASE("after a failed refresh that succeeds again, the listener connects anew") {
  Script script;
  HeldLocks locks;
  locks.add(held(script, "a"));
  CHECK(locks.listen_due().passed(base::now()));
  locks.listen(-1);
  CHECK(locks.listen_due().is_never());
  script.renewals = {Fault{Fault::Kind::silent, "no answer"}};
  CHECK(std::get<hold::Trouble>(locks.refresh(-1)).why == "no answer");
  CHECK(locks.listen_due().is_never());
  CHECK(std::holds_alternative<hold::Extended>(locks.refresh(-1)));
  CHECK(locks.listen_due().passed(base::now()));
  locks.listen(-1);
  CHECK(locks.listen_due().is_never());
  CHECK(script.count("listen a") == 2);
}

TEST_CASE("a store without listeners is asked for one once") {
  Script script;
  script.has_listener = false;
  HeldLocks locks;
  locks.add(held(script, "a"));
  locks.listen(-1);
  CHECK(locks.listen_due().is_never());
  CHECK(locks.descriptors() == std::vector<int>{-1});
  CHECK_FALSE(locks.hear());
}

TEST_CASE("a request to stop is heard once and given back with its lock") {
  Script script;
  HeldLocks locks;
  locks.add(held(script, "a"));
  locks.listen(-1);
  CHECK_FALSE(locks.hear());
  script.post(notice(store::Notice::Kind::stop));
  CHECK(os::is_readable(locks.descriptors().front()));
  CHECK(std::get<hold::AskedToStop>(*locks.hear()).why == "by ann");
  CHECK_FALSE(locks.hear());
  CHECK(locks.listen_due().is_never());
  CHECK(std::move(locks).give_back().front().notice);
}

TEST_CASE("a loss that is heard is a loss, and its sender waits for a word") {
  Script script;
  HeldLocks locks;
  locks.add(held(script, "a"));
  locks.listen(-1);
  script.post(notice(store::Notice::Kind::lost));
  CHECK(std::holds_alternative<hold::Lost>(*locks.hear()));
  std::move(locks).abandon();
  CHECK(script.calls == Calls{"listen a", "confirm a"});
}

TEST_CASE("locks that are abandoned are released, and the senders of notices told") {
  Script script;
  HeldLocks locks;
  locks.add(held(script, "a"));
  locks.add(held(script, "b"));
  locks.listen(-1);
  script.post(notice(store::Notice::Kind::stop));
  (void)locks.hear();
  std::move(locks).abandon();
  CHECK(script.calls == Calls{"listen a", "listen b", "release a", "confirm a", "release b"});
}

}  // namespace unit::hold_held_locks
