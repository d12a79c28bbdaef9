// The consequences of a ZooKeeper session's length.
#include <doctest/doctest.h>

#include "store/zookeeper/session_time.hpp"

namespace unit::zookeeper_session_time {

namespace {

using namespace store;
using namespace store::zookeeper;

Ttl ttl(int ms) {
  return *Ttl::from(Millis{ms});
}

}  // namespace

TEST_CASE("a session outlasts its lease by half, and at least by a tick") {
  CHECK(session_for(ttl(30'000)) == Millis{45'000});
  CHECK(session_for(ttl(4'000)) == Millis{6'000});
  CHECK(session_for(ttl(1'000)) == Millis{3'000});
  CHECK(session_for(ttl(100)) == Millis{2'100});
}

TEST_CASE("the session that was asked for carries the whole lease") {
  for (const int ms : {100, 150, 1'000, 1'999, 2'000, 3'999, 4'000, 4'001, 30'000, 3'600'000}) {
    CHECK(lease_within(session_for(ttl(ms)), ttl(ms)).length() == Millis{ms});
  }
}

TEST_CASE("a shorter session carries a shorter lease") {
  CHECK(lease_within(Millis{30'000}, ttl(60'000)).length() == Millis{20'000});
  CHECK(lease_within(Millis{4'000}, ttl(60'000)).length() == Millis{2'000});
  CHECK(lease_within(Millis{2'000}, ttl(60'000)).length() == Millis{1'000});
  // One without room for any lease carries the shortest: the ensemble ends it soon enough.
  CHECK(lease_within(Millis{150}, ttl(60'000)).length() == Ttl::shortest);
  CHECK(lease_within(Millis{0}, ttl(60'000)).length() == Ttl::shortest);
}

TEST_CASE("a lease always ends before its session, by a third of it or by a tick") {
  for (int session = 300; session < 100'000; session += 77) {
    const auto lease = lease_within(Millis{session}, ttl(3'600'000)).length();
    CHECK(lease + std::max(Millis{session / 3}, std::min(Millis{session / 2}, usual_tick)) <=
          Millis{session});
  }
}

TEST_CASE("an answer after a long silence proves nothing until the leader has heard of it") {
  const Moment start{};
  const auto at = [&](int ms) { return start + Millis{ms}; };
  constexpr Millis session{3'500};  // half of it is a lease
  Contact contact;
  CHECK(contact.counts_from(at(700)) == at(700));
  for (int ms = 0; ms <= 7'000; ms += 1'750) contact.heard(at(ms), session);
  CHECK(contact.counts_from(at(7'000)) == at(7'000));
  contact.heard(at(8'751), session);
  CHECK(contact.counts_from(at(7'900)) == at(7'000));
  CHECK(contact.counts_from(at(8'800)) == at(7'000));
  CHECK(contact.counts_from(at(5'000)) == at(5'000));
  contact.heard(at(9'000), session);
  CHECK(contact.counts_from(at(9'100)) == at(7'000));
  CHECK(contact.counts_from(at(8'751 + 1'750)) == at(8'751 + 1'750));
}

TEST_CASE("a lease that counts ends before its session, whenever the leader heard last") {
  for (const int session : {2'100, 3'500, 6'000, 45'000}) {
    for (int silence = 0; silence < 2 * session; silence += 37) {
      const Moment start{};
      Contact contact;
      contact.heard(start, Millis{session});
      const Moment asked_at = start + Millis{silence};
      contact.heard(asked_at, Millis{session});
      const Millis margin = margin_of(Millis{session});
      const auto lease = lease_within(Millis{session}, ttl(3'600'000)).length();
      // The leader heard at the start, and hears of the answer after the margin, if it is in time.
      const bool in_time = asked_at + margin <= start + Millis{session};
      const Moment ends = (in_time ? asked_at : start) + Millis{session};
      CHECK(contact.counts_from(asked_at) + lease <= ends);
    }
  }
}

TEST_CASE("one server is tried for half of the limit, so that another one has as much") {
  const Moment start{};
  ServerTrial trial;
  CHECK_FALSE(trial.failed(start + Millis{1'000'000}));  // nothing is tried yet
  const auto ends = trial.ends(Deadline::after(start, Millis{4'000}), Millis{3'000}, start);
  CHECK(ends == Deadline::after(start, Millis{2'000}));
  CHECK_FALSE(trial.failed(start + Millis{1'999}));
  CHECK(trial.failed(start + Millis{2'000}));
}

TEST_CASE("a trial goes on beyond the call that began it") {
  const Moment start{};
  ServerTrial trial;
  const auto ends = trial.ends(Deadline::after(start, Millis{4'000}), Millis{3'000}, start);
  const auto later = start + Millis{1'500};
  CHECK(trial.ends(Deadline::after(later, Millis{100}), Millis{3'000}, later) == ends);
  trial.reset();
  CHECK_FALSE(trial.failed(start + Millis{2'000}));
  CHECK(trial.ends(Deadline::after(later, Millis{4'000}), Millis{3'000}, later) ==
        Deadline::after(later, Millis{2'000}));
}

TEST_CASE("a trial is neither too short for a far server nor too long for a waiter") {
  const Moment start{};
  const auto tried = [&](Deadline limit, Millis session) {
    return ServerTrial{}.ends(limit, session, start).left(start);
  };
  CHECK(tried(Deadline::never(), Millis{30'000}) == ServerTrial::longest);
  CHECK(tried(Deadline::after(start, Millis{60'000}), Millis{30'000}) == ServerTrial::longest);
  // A limit that has no time left still gives a server a share of the session.
  CHECK(tried(Deadline::at(start), Millis{10'000}) == Millis{500});
  CHECK(tried(Deadline::at(start), Millis{60'000}) == ServerTrial::far_away);
}

}  // namespace unit::zookeeper_session_time
