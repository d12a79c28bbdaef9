// The effect of a request on a lock: who gets it, who waits, who is woken or told.
#include "store/rules/decide.hpp"

#include <doctest/doctest.h>

#include "store/rules/posts.hpp"
#include "store/rules/waiting.hpp"

namespace unit::rules_decide {
namespace {

using namespace store;
using namespace store::rules;
using Posts = std::vector<std::pair<std::string, std::string>>;

constexpr std::uint64_t begin_us = 1'795'000'000'000'000;

const Mode alone{};
const Mode reader{Mode::Kind::shared};
const Mode two{Mode::Kind::permits, 2};

Token named(const std::string& name) {
  return Token::foreign(name);
}

Claim claim(const std::string& token, const Mode& mode = alone) {
  Claim claim{*LockName::from("k"), named(token), *Ttl::from(Millis{30'000}), OnBusy::queue};
  claim.mode = mode;
  claim.history = Millis{1'000'000};
  return claim;
}

/// A lock, and a clock. Each act checks nothing; what it came to is in `posts` and the state.
struct Lock {
  LockState state{};
  std::uint64_t now_us = begin_us;
  Posts posts{};

  [[nodiscard]] Facts now() const { return {now_us}; }
  void pass(std::int64_t ms) { now_us += static_cast<std::uint64_t>(ms) * 1000; }

  template <typename Request>
  auto ask(const Request& request) {
    auto decision = decide(state, request, now());
    posts.clear();
    for (auto& each : decision.posts) posts.emplace_back(each.to, each.message);
    return decision.answer;
  }

  Entered enter(const Claim& claim, std::optional<std::uint64_t> ticket = {}, Millis tried = {}) {
    return ask(Enter{claim, ticket, tried});
  }
  Grant granted(const Claim& claim, std::optional<std::uint64_t> ticket = {}, Millis tried = {}) {
    const auto entered = enter(claim, ticket, tried);
    REQUIRE(std::holds_alternative<Grant>(entered));
    return std::get<Grant>(entered);
  }
  Queued queued(const Claim& claim, std::optional<std::uint64_t> ticket = {}, Millis tried = {}) {
    const auto entered = enter(claim, ticket, tried);
    REQUIRE(std::holds_alternative<Queued>(entered));
    return std::get<Queued>(entered);
  }
  Own leave(const std::string& token, const Parting& parting = {}) {
    return ask(Leave{named(token), parting});
  }
};

Parting ended(int code, Millis history = Millis{1'000'000}) {
  Parting parting;
  parting.history = history;
  parting.end = RunEnd{{RunOutcome::Kind::exited, code}, {}};
  return parting;
}

}  // namespace

TEST_CASE("a free lock is granted, with a fence that is the time") {
  Lock lock;
  const Grant grant = lock.granted(claim("a"));
  CHECK(grant.fence == begin_us);
  CHECK_FALSE(grant.again);
  CHECK(lock.posts.empty());
  REQUIRE(lock.state.holders.size() == 1);
  CHECK(lock.state.holders[0].ends == static_cast<TimeMs>(begin_us / 1000) + 30'000);
}

TEST_CASE("the fence grows, though the clock goes back") {
  Lock lock;
  const Fence first = lock.granted(claim("a")).fence;
  lock.leave("a");
  lock.pass(-5'000);
  CHECK(lock.granted(claim("b")).fence == first + 1);
}

TEST_CASE("a fence that leaves no room is told, and nothing is granted") {
  Lock lock;
  (void)lock.granted(claim("a"));
  lock.leave("a");
  lock.state.last_fence = (Fence{1} << 53) - 2;
  const auto entered = lock.enter(claim("b"));
  REQUIRE(std::holds_alternative<NoHigherFence>(entered));
  CHECK(std::get<NoHigherFence>(entered).fence == lock.state.last_fence);
  CHECK(lock.state.holders.empty());
}

TEST_CASE("a claim whose answer was lost finds its grant") {
  Lock lock;
  for (const Mode& mode : {alone, reader, two}) {
    lock = {};
    const Grant first = lock.granted(claim("a", mode));
    lock.pass(1'000);
    const Grant again = lock.granted(claim("a", mode));
    CHECK(again.again);
    CHECK(again.fence == first.fence);
    CHECK(again.permit == first.permit);
    CHECK(lock.state.holders[0].ends == static_cast<TimeMs>(lock.now_us / 1000) + 30'000);
  }
}

TEST_CASE("a token that holds alone is no reader") {
  Lock lock;
  (void)lock.granted(claim("a"));
  (void)lock.queued(claim("a", reader));
  CHECK(lock.ask(Cancel{claim("a", reader)}) == Own::ours);
  CHECK(lock.state.holders.size() == 1);
}

TEST_CASE("a busy lock: a place in the queue, or who has it") {
  Lock lock;
  Claim first = claim("a");
  first.reason = "deploy";
  (void)lock.granted(first);
  lock.pass(40);
  Claim hasty = claim("b");
  hasty.on_busy = OnBusy::give_up;
  const auto busy = std::get<Busy>(lock.enter(hasty));
  CHECK(busy.waiting == 0);
  REQUIRE(busy.holder);
  CHECK(busy.holder->token == "a");
  CHECK(busy.holder->reason == "deploy");
  CHECK(busy.holder->held_for == Millis{40});

  const Queued second = lock.queued(claim("b"));
  CHECK(second.ahead == 0);
  CHECK(second.look_in == Millis{29'960});
  const Queued third = lock.queued(claim("c"));
  CHECK(third.ahead == 1);
  CHECK(third.look_in == Millis{29'960} + stagger);
  CHECK(third.ticket > second.ticket);
  Claim crowded = claim("d");
  crowded.max_waiters = 2;
  CHECK(std::get<Busy>(lock.enter(crowded)).waiting == 2);
  crowded.max_waiters = 3;
  CHECK(lock.queued(crowded).ahead == 2);
}

TEST_CASE("far behind, nobody looks at the end of a lease") {
  Lock lock;
  (void)lock.granted(claim("a"));
  for (std::size_t i = 0; i <= looking_behind; ++i) {
    CHECK(lock.queued(claim("w" + std::to_string(i))).look_in.has_value());
  }
  CHECK_FALSE(lock.queued(claim("z")).look_in.has_value());
}

TEST_CASE("a release wakes the first, and two witnesses") {
  Lock lock;
  (void)lock.granted(claim("a"));
  for (const char* each : {"b", "c", "d", "e"}) (void)lock.queued(claim(each));
  CHECK(lock.leave("a") == Own::ours);
  CHECK(lock.posts == Posts{{"c", "next"}, {"e", "next"}, {"b", "wake"}});
  REQUIRE(lock.state.reservation);
  CHECK(lock.state.reservation->token == named("b"));
  // Nobody else gets it meanwhile; the others learn when the first has had its time.
  const Queued other = lock.queued(claim("x"));
  CHECK(other.holder->kind == Holder::Kind::reserved);
  CHECK(other.look_in == confirm_within + Millis{2});
  CHECK(lock.granted(claim("b")).fence == begin_us + 1);
  CHECK(lock.state.queue.size() == 4);
  CHECK(lock.posts.empty());
}

TEST_CASE("after a short lease the next ones hear that it ends sooner") {
  for (const auto& [ttl, told] : {std::pair{Millis{5'000}, Posts{{"d", "next"}}},
                                  std::pair{Millis{1'000}, Posts{{"c", "next"}, {"d", "next"}}}}) {
    Lock lock;
    (void)lock.granted(claim("a"));
    Claim brief = claim("b");
    brief.ttl = *Ttl::from(ttl);
    (void)lock.queued(brief);
    for (const char* each : {"c", "d"}) (void)lock.queued(claim(each));
    lock.leave("a");
    (void)lock.granted(brief);
    CHECK(lock.posts == told);
  }
}

TEST_CASE("a server's pace is how long a sign of life lasts, and which lease is short") {
  const Pace slow{Millis{28'000}, Millis{70'000}};
  for (const auto& [pace, told] :
       {std::pair{slow, Posts{{"d", "next"}}}, std::pair{Pace{heartbeat, patience}, Posts{}}}) {
    Lock lock;
    (void)lock.granted(claim("a"));
    Claim longer = claim("b");
    longer.ttl = *Ttl::from(Millis{20'000});
    (void)lock.queued(longer);
    (void)lock.ask(Enter{claim("c"), {}, {}, pace});
    CHECK(lock.state.queue.back().believed ==
          static_cast<TimeMs>(lock.now_us / 1000) + pace.patience.count());
    (void)lock.queued(claim("d"));
    lock.leave("a");
    (void)lock.ask(Enter{longer, {}, {}, pace});
    CHECK(lock.posts == told);
  }
}

TEST_CASE("the first does not come: a roll call, with a quarter of the time") {
  Lock lock;
  (void)lock.granted(claim("a"));
  for (const char* each : {"b", "c", "d", "e", "f"}) (void)lock.queued(claim(each));
  lock.leave("a");
  lock.pass(confirm_within.count() + 1);
  CHECK(lock.queued(claim("d")).ahead == 1);  // b is dead, and it is c's turn
  CHECK(lock.posts ==
        Posts{{"d", "next"}, {"f", "next"}, {"c", "wake"}, {"e", "next"}, {"c", "next"}});
  CHECK(lock.state.reservation->ends == static_cast<TimeMs>(lock.now_us / 1000) + 500);
  lock.pass(600);
  // Nobody came but the one that called: all others are dead.
  CHECK(lock.granted(claim("d")).fence > 0);
  CHECK(lock.state.queue.empty());
}

TEST_CASE("a dead waiter at the head: the next one hears of it") {
  Lock lock;
  (void)lock.granted(claim("a"));
  (void)lock.queued(claim("b"));
  lock.pass(20'000);
  CHECK(lock.ask(Refresh{named("a"), *Ttl::from(Millis{30'000})}) == Own::ours);
  (void)lock.queued(claim("c"));
  lock.pass(15'000);
  (void)lock.queued(claim("d"));  // b has given no sign for 35 s
  CHECK(lock.posts == Posts{{"c", "next"}});
  lock.state.queue.front().believed = 0;
  Claim hasty = claim("e");
  hasty.on_busy = OnBusy::give_up;
  (void)lock.enter(hasty);
  CHECK(lock.posts == Posts{{"d", "next"}});
}

TEST_CASE("a waiter that lost its place comes back before later ones") {
  Lock lock;
  (void)lock.granted(claim("a"));
  const Queued first = lock.queued(claim("b"));
  lock.pass(29'000);
  lock.ask(Refresh{named("a"), *Ttl::from(Millis{30'000})});
  const Queued second = lock.queued(claim("c"));
  lock.pass(2'000);
  (void)lock.queued(claim("c"), second.ticket);  // b is purged
  CHECK(lock.queued(claim("b"), first.ticket).ahead == 0);
  CHECK(lock.state.queue.size() == 2);
  // Free: the earlier ticket goes first, and a later one does not.
  lock.state.holders.clear();
  CHECK(lock.queued(claim("c"), second.ticket).ahead == 1);
  lock.state.reservation.reset();
  lock.state.queue.erase(lock.state.queue.begin());
  CHECK_FALSE(lock.granted(claim("b"), first.ticket).again);
}

TEST_CASE("a waiter that was dismissed after its wake is told, and gets nothing") {
  Lock lock;
  (void)lock.granted(claim("a"));
  const Queued mine = lock.queued(claim("b"));
  Claim newest = claim("c");
  newest.supersede = "superseded by c";
  (void)lock.queued(newest);
  CHECK(lock.posts == Posts{{"b", "stop - superseded by c"}, {"a", "stop - superseded by c"}});
  lock.state.holders.clear();
  lock.state.queue.clear();
  CHECK(lock.queued(claim("b"), mine.ticket).ahead == 0);
}

TEST_CASE(
    "a waiter that was dismissed stands nowhere until it has read of that, however often woken") {
  Lock lock;
  const auto shared = [](const std::string& name) {
    Claim reader = claim(name);
    reader.mode.kind = Mode::Kind::shared;
    return reader;
  };
  (void)lock.granted(shared("a"));
  Claim writer = claim("w");
  (void)lock.queued(writer);
  const Queued mine = lock.queued(shared("b"));
  Claim newest = claim("c");
  newest.supersede = "superseded by c";
  (void)lock.queued(newest);
  for (int wakes = 0; wakes < 3; ++wakes) {
    CHECK(lock.queued(shared("b"), mine.ticket).ahead == 1);
    CHECK(lock.state.queue.size() == 1);
  }
}

TEST_CASE("supersede: who waits is sent away, holders are spared if that is wanted") {
  Lock lock;
  (void)lock.granted(claim("a"));
  (void)lock.queued(claim("b"));
  Claim newest = claim("c");
  newest.supersede = "superseded by c";
  newest.spare_holders = true;
  lock.leave("a");  // b is woken
  CHECK_FALSE(lock.granted(newest).again);
  CHECK(lock.posts == Posts{{"b", "stop - superseded by c"}});
  CHECK_FALSE(lock.state.reservation);
}

TEST_CASE("supersede: one that tries again spares those who came after its first try") {
  Lock lock;
  (void)lock.granted(claim("a"));
  (void)lock.queued(claim("b"));
  lock.pass(100);
  Claim newest = claim("c");
  newest.supersede = "superseded by c";
  lock.pass(100);
  (void)lock.queued(claim("d"));
  (void)lock.queued(newest, {}, Millis{100});  // its first try was between b and d
  CHECK(lock.posts == Posts{{"b", "stop - superseded by c"}, {"a", "stop - superseded by c"}});
  // Heard after all, and sent away since by another: it sends nobody away.
  lock.state.queue.clear();
  (void)lock.queued(claim("e"));
  lock.state.letters.push_back({"c", "stop - superseded by f", lock.state.holders[0].ends});
  (void)lock.queued(newest, {}, Millis{300});
  CHECK(lock.posts.empty());
}

TEST_CASE("supersede: a waiter that seems dead is told as well, unless this is a second try") {
  for (const Millis tried : {Millis{0}, Millis{10}}) {
    Lock lock;
    (void)lock.granted(claim("a"));
    (void)lock.queued(claim("b"));
    lock.state.queue.front().believed = 0;
    Claim newest = claim("c");
    newest.supersede = "superseded by c";
    newest.spare_holders = true;
    (void)lock.queued(newest, {}, tried);
    CHECK((lock.posts == Posts{{"b", "stop - superseded by c"}}) == (tried == Millis{0}));
  }
}

TEST_CASE("readers hold together, and a writer waits for all of them") {
  Lock lock;
  (void)lock.granted(claim("r1", reader));
  (void)lock.granted(claim("r2", reader));
  const Queued writer = lock.queued(claim("w"));
  CHECK(writer.holder->others == 1);
  CHECK(lock.queued(claim("r3", reader)).ahead == 1);  // not past the writer
  CHECK(lock.leave("r1") == Own::ours);
  CHECK(lock.posts == Posts{{"w", "next"}});
  CHECK(lock.leave("r2") == Own::ours);
  CHECK(lock.posts == Posts{{"r3", "next"}, {"w", "wake"}});
  (void)lock.granted(claim("w"));
  CHECK(lock.leave("w") == Own::ours);
  (void)lock.granted(claim("r3", reader));
  CHECK(lock.state.is_several());
}

TEST_CASE("permits: the lowest that is free, and a waiter for the next") {
  Lock lock;
  CHECK(lock.granted(claim("a", two)).permit == 1);
  CHECK(lock.granted(claim("b", two)).permit == 2);
  lock.pass(10'000);
  lock.ask(Refresh{named("a"), *Ttl::from(Millis{30'000})});
  const Queued third = lock.queued(claim("c", two));
  CHECK(third.look_in == Millis{20'000});  // b's ends first
  CHECK(third.holder->expires_in == Millis{30'000});
  CHECK(lock.queued(claim("d", two)).ahead == 1);
  CHECK(lock.leave("b") == Own::ours);
  CHECK(lock.posts == Posts{{"d", "next"}, {"c", "wake"}});
  CHECK(lock.leave("x") == Own::elsewhere);
  // c was woken, and is not woken twice.
  CHECK(lock.queued(claim("d", two)).look_in == confirm_within + Millis{2});
  CHECK(lock.posts.empty());
  CHECK(lock.granted(claim("c", two)).permit == 2);
}

TEST_CASE("permits: there is room for the first, which did not come, and a waiter is dead") {
  Lock lock;
  (void)lock.granted(claim("a", two));
  (void)lock.granted(claim("b", two));
  for (const char* each : {"c", "d", "e", "f", "g"}) (void)lock.queued(claim(each, two));
  lock.leave("b");
  lock.pass(confirm_within.count() + 2);
  (void)lock.queued(claim("e", two));
  CHECK(lock.posts == Posts{{"e", "next"}, {"g", "next"}, {"d", "wake"}, {"f", "next"}});
}

TEST_CASE("modes that do not go together") {
  struct Case {
    Mode held;
    Mode wanted;
    bool together;
  };
  const Mode three{Mode::Kind::permits, 3};
  for (const auto& [held, wanted, together] :
       {Case{alone, reader, true}, Case{reader, alone, true}, Case{two, three, false},
        Case{reader, two, false}, Case{alone, two, false}}) {
    Lock lock;
    (void)lock.granted(claim("a", held));
    const auto entered = lock.enter(claim("b", wanted));
    CHECK(std::holds_alternative<ModeConflict>(entered) == !together);
    if (together) continue;
    CHECK(std::get<ModeConflict>(entered).token == named("a"));
    CHECK(std::get<ModeConflict>(entered).mode == held);
  }
  Lock lock;
  (void)lock.granted(claim("a", reader));
  (void)lock.queued(claim("b"));
  lock.state.holders.clear();
  CHECK(std::get<ModeConflict>(lock.enter(claim("c", two))).token == named("b"));
}

TEST_CASE("the answer to a release") {
  Lock lock;
  CHECK(lock.leave("a") == Own::nobodys);
  (void)lock.granted(claim("b"));
  CHECK(lock.leave("a") == Own::elsewhere);
  (void)lock.queued(claim("c"));
  CHECK(lock.leave("c") == Own::elsewhere);  // it waited; it has left the queue
  CHECK(lock.state.queue.empty());
  CHECK(lock.leave("b") == Own::ours);
  CHECK(lock.state.is_free());
}

TEST_CASE("--min-hold keeps the lock, from its grant on") {
  for (const Mode& mode : {alone, reader}) {
    Lock lock;
    (void)lock.granted(claim("a", mode));
    (void)lock.queued(claim("w"));
    (void)lock.queued(claim("x"));
    lock.pass(400);
    Parting parting = ended(0);
    parting.min_hold = Millis{1'000};
    CHECK(lock.leave("a", parting) == Own::ours);
    CHECK(lock.posts == Posts{{"w", "next"}, {"x", "next"}});
    CHECK(lock.state.holders[0].ends == static_cast<TimeMs>(lock.now_us / 1000) + 600);
    CHECK(lock.queued(claim("w")).holder->kind == Holder::Kind::kept);
    CHECK(lock.ask(AskToStop{{named("a")}, "please", "r"}) == 0);  // nobody would hear it
    CHECK(lock.ask(ForceRelease{{named("a")}, "me", "r"}).index() == 0);
    CHECK(lock.posts == Posts{{"x", "next"}, {"w", "wake"}});
  }
  Lock lock;
  (void)lock.granted(claim("a"));
  lock.pass(2'000);
  Parting parting = ended(0);
  parting.min_hold = Millis{1'000};
  lock.leave("a", parting);
  CHECK(lock.state.is_free());
  // Granted in the future, as it seems now: no longer than it was meant.
  (void)lock.granted(claim("b"));
  lock.pass(-60'000);
  lock.leave("b", parting);
  CHECK(lock.state.holders[0].ends == static_cast<TimeMs>(lock.now_us / 1000) + 1'000);
}

TEST_CASE("a waiter that cancels leaves the queue, and what was reserved for it goes on") {
  Lock lock;
  (void)lock.granted(claim("a"));
  for (const char* each : {"b", "c", "d", "e"}) (void)lock.queued(claim(each));
  CHECK(lock.ask(Cancel{claim("d")}) == Own::ours);
  CHECK(lock.posts.empty());
  lock.leave("a");
  CHECK(lock.ask(Cancel{claim("c")}) == Own::ours);  // a witness: the next ones look instead
  CHECK(lock.posts == Posts{{"b", "next"}, {"e", "next"}});
  CHECK(lock.ask(Cancel{claim("b")}) == Own::ours);
  CHECK(lock.posts == Posts{{"e", "wake"}});
  lock.pass(3'000);
  CHECK(lock.ask(Cancel{claim("x")}) == Own::ours);  // nobody came: a roll call
  CHECK(lock.state.is_free());
}

TEST_CASE("a grant that was not heard is given back by a cancel, and never was a run") {
  Lock lock;
  Claim mine = claim("a");
  mine.slot = Slot{"day", 0};
  (void)lock.granted(mine);
  CHECK(lock.state.runs.size() == 1);
  CHECK(lock.ask(Cancel{mine}) == Own::ours);
  CHECK(lock.state.is_free());
  CHECK(lock.state.runs.empty());
  CHECK(lock.state.slots.empty());
}

TEST_CASE("a refresh, and what is no longer ours") {
  Lock lock;
  const Ttl brief = *Ttl::from(Millis{500});
  CHECK(lock.ask(Refresh{named("a"), brief}) == Own::nobodys);
  (void)lock.granted(claim("a"));
  (void)lock.queued(claim("b"));
  CHECK(lock.ask(Refresh{named("b"), brief}) == Own::elsewhere);
  CHECK(lock.ask(Refresh{named("a"), brief}) == Own::ours);
  CHECK(lock.posts == Posts{{"b", "next"}});  // it ends sooner than that one saw
  lock.pass(500);
  CHECK(lock.ask(Refresh{named("a"), brief}) == Own::nobodys);
}

TEST_CASE("check and the holder that is shown") {
  Lock lock;
  const Grant grant = lock.granted(claim("a"));
  const auto held = check(lock.state, named("a"), lock.now());
  REQUIRE(held);
  CHECK(held->left == Millis{30'000});
  CHECK(held->fence == grant.fence);
  CHECK_FALSE(check(lock.state, named("b"), lock.now()));
  lock.pass(-3'000);
  CHECK_FALSE(holder_of(lock.state, lock.now())->held_for);  // the clock went back
  lock.pass(33'000);
  settle(lock.state, lock.now());
  CHECK_FALSE(holder_of(lock.state, lock.now()));
}

TEST_CASE("force-release takes it from those that were shown, and from no other") {
  Lock lock;
  (void)lock.granted(claim("a"));
  const auto other = lock.ask(ForceRelease{{named("b")}, "me@host", "r"});
  REQUIRE(std::holds_alternative<Changed>(other));
  CHECK(std::get<Changed>(other).holder->token == "a");
  (void)lock.queued(claim("w"));
  (void)lock.queued(claim("x"));
  CHECK(std::holds_alternative<Removed>(lock.ask(ForceRelease{{named("a")}, "me@host", "r"})));
  CHECK(lock.posts == Posts{{"x", "next"}, {"w", "wake"}, {"a", "lost r me@host"}});
  CHECK(lock.state.runs[0].end->outcome.kind == RunOutcome::Kind::lost);
  // Nobody waits for a last word; and a reservation is also taken.
  CHECK(std::holds_alternative<Removed>(lock.ask(ForceRelease{{named("w")}, "me", ""})));
  CHECK(lock.posts == Posts{{"x", "wake"}});
}

TEST_CASE("force-release of one among several") {
  Lock lock;
  (void)lock.granted(claim("a", reader));
  lock.pass(10);
  (void)lock.granted(claim("b", reader));
  (void)lock.queued(claim("w"));
  (void)lock.queued(claim("x"));
  CHECK(std::holds_alternative<Removed>(lock.ask(ForceRelease{{named("b")}, "me", "r"})));
  // The last lease ends sooner.
  CHECK(lock.posts == Posts{{"w", "next"}, {"x", "next"}, {"b", "lost r me"}});
  CHECK(lock.state.holders.size() == 1);
}

TEST_CASE("holders and waiters are asked to stop, and say when they have") {
  Lock lock;
  (void)lock.granted(claim("a"));
  (void)lock.queued(claim("b"));
  CHECK(lock.ask(AskToStop{{named("a"), named("b"), named("c")}, "please", "r"}) == 2);
  CHECK(lock.posts == Posts{{"a", "stop r please"}, {"b", "stop r please"}});
  (void)lock.ask(LastWordTo{"r"});
  CHECK(lock.posts == Posts{{"r", "stopped"}});
  CHECK(lock.state.letters.size() == 3);
  lock.pass(letter_life.count());
  settle(lock.state, lock.now());
  CHECK(lock.state.letters.empty());
}

TEST_CASE("runs are remembered, the newest first, and no more than so many") {
  Lock lock;
  for (std::size_t i = 0; i < remembered_runs + 2; ++i) {
    Claim each = claim("t" + std::to_string(i));
    each.reason = "because";
    (void)lock.granted(each);
    lock.pass(100 + static_cast<std::int64_t>(i % 3));
    lock.leave(each.token.text(), ended(i % 2 == 0 ? 0 : 3));
  }
  CHECK(lock.state.runs.size() == remembered_runs);
  (void)lock.granted(claim("x"));
  CHECK(lock.queued(claim("y")).typical_run == Millis{101});
  const auto report = rules::report(*LockName::from("k"), lock.state, lock.now());
  CHECK(report.runs.size() == remembered_runs);
  CHECK(report.runs[0].outcome.kind == RunOutcome::Kind::running);
  CHECK(report.runs[1].held == Millis{100});
  CHECK(report.waiters.size() == 1);
  lock.pass(2'000'000);
  settle(lock.state, lock.now());
  CHECK(lock.state.runs.empty());
}

TEST_CASE("a run whose line is gone is remembered by its release, if it still has the lock") {
  Lock lock;
  (void)lock.granted(claim("a", reader));
  const Fence fence = lock.state.holders[0].fence;
  lock.state.runs.clear();
  lock.state.runs_end = 0;
  CHECK(lock.leave("a", ended(4)) == Own::ours);
  REQUIRE(lock.state.runs.size() == 1);
  CHECK(lock.state.runs[0].fence == fence);
  CHECK(lock.state.runs[0].end->outcome == RunOutcome{RunOutcome::Kind::exited, 4});
  CHECK(lock.state.runs_end > 0);
  // Its end is not told twice.
  CHECK(lock.leave("a", ended(5)) == Own::nobodys);
  CHECK(lock.state.runs[0].end->outcome.number == 4);
}

TEST_CASE("a holder may know its fence better") {
  Lock lock;
  (void)lock.granted(claim("a"));
  Parting parting = ended(0);
  parting.fence = begin_us + 7;
  lock.leave("a", parting);
  CHECK(lock.state.runs[0].fence == begin_us + 7);
}

TEST_CASE("a grant that was not heard and is over leaves no line") {
  Lock lock;
  (void)lock.granted(claim("a"));
  lock.pass(31'000);
  (void)lock.granted(claim("a"), {}, Millis{31'000});
  CHECK(lock.state.runs.size() == 1);
  CHECK(lock.state.runs[0].fence > begin_us);
}

TEST_CASE("without a history nothing is remembered") {
  Lock lock;
  Claim mine = claim("a");
  mine.history = Millis{0};
  (void)lock.granted(mine);
  lock.leave("a", ended(0, Millis{0}));
  CHECK(lock.state.runs.empty());
}

TEST_CASE("a slot is done once, and who waits is told") {
  Lock lock;
  const auto of_slot = [&](const char* token) {
    Claim mine = claim(token);
    mine.slot = Slot{"day", 1};
    return mine;
  };
  const auto parting = [&](Parting::SlotEnd end, RunNumber number, int code) {
    Parting mine = ended(code);
    mine.slot = Parting::OfSlot{Slot{"day", 1}, number.attempt, number.failures, end};
    return mine;
  };
  using End = Parting::SlotEnd;
  CHECK(lock.granted(of_slot("a")).number == RunNumber{1, 0});
  for (const char* each : {"b", "c"}) (void)lock.queued(of_slot(each));
  lock.leave("a", parting(End::failed, {1, 0}, 3));
  CHECK(lock.posts == Posts{{"c", "next"}, {"b", "wake"}});
  CHECK(lock.granted(of_slot("b")).number == RunNumber{2, 1});
  lock.leave("b", parting(End::done, {2, 1}, 0));
  CHECK(lock.posts == Posts{{"c", "done"}, {"c", "wake"}});
  lock.pass(50);
  const auto done = lock.enter(of_slot("c"));
  REQUIRE(std::holds_alternative<SlotDone>(done));
  CHECK(std::get<SlotDone>(done).by == named("b"));
  CHECK(std::get<SlotDone>(done).attempt == 2);
  CHECK(std::get<SlotDone>(done).ended_ago == Millis{50});
  CHECK(lock.state.is_free());
  // One that never waited, while the lock is free, and while somebody else has it.
  CHECK(std::holds_alternative<SlotDone>(lock.enter(of_slot("d"))));
  (void)lock.granted(claim("e"));
  (void)lock.queued(claim("f"));
  CHECK(std::holds_alternative<SlotDone>(lock.enter(of_slot("d"))));
  CHECK(lock.posts.empty());
  // Its end is heard once more.
  lock.leave("b", parting(End::failed, {2, 1}, 9));
  CHECK(lock.state.slots[0].state.outcome.number == 0);
}

TEST_CASE(
    "a repeated question has the number of its run, although an earlier run has ended the slot") {
  for (const Mode& mode : {alone, two}) {
    Lock lock;
    Claim early = claim("a", mode);
    early.slot = Slot{"day", 0};
    Claim late = early;
    late.token = named("b");
    CHECK(lock.granted(early).number == RunNumber{1, 0});
    lock.pass(60'000);
    CHECK(lock.granted(late).number == RunNumber{2, 0});
    Parting done = ended(0);
    done.slot = Parting::OfSlot{*early.slot, 1, 0, Parting::SlotEnd::done};
    lock.leave("a", done);
    const Grant again = lock.granted(late);
    CHECK(again.again);
    CHECK(again.number == RunNumber{2, 0});
  }
}

TEST_CASE("a waiter that leaves a finished slot tells one behind those who were told") {
  Lock lock;
  Claim mine = claim("w0");
  mine.slot = Slot{"day", 0};
  (void)lock.granted(claim("a"));
  (void)lock.queued(mine);
  const Wait other = lock.state.queue.front();
  for (std::size_t i = 1; i <= told_at_once; ++i) {
    Wait each = other;
    each.token = named("w" + std::to_string(i));
    each.ticket += i;
    lock.state.queue.push_back(each);
  }
  SlotState done{SlotState::Kind::done, {1, 0}, "z"};
  done.outcome = {RunOutcome::Kind::exited};
  lock.state.slots.push_back({"day", done, other.believed});
  CHECK(std::holds_alternative<SlotDone>(lock.enter(mine)));
  CHECK(lock.posts == Posts{{"w1", "next"}, {"w" + std::to_string(told_at_once), "done"}});
}

TEST_CASE("a witness that leaves a finished slot is followed by another") {
  Lock lock;
  Claim mine = claim("c");
  mine.slot = Slot{"day", 0};
  (void)lock.granted(claim("a"));
  (void)lock.queued(claim("b"));
  (void)lock.queued(mine);
  for (const char* each : {"d", "e"}) (void)lock.queued(claim(each));
  mine.token = named("f");
  (void)lock.queued(mine);
  SlotState done{SlotState::Kind::done, {1, 0}, "z"};
  done.outcome = {RunOutcome::Kind::exited};
  lock.state.slots.push_back({"day", done, lock.state.queue.front().believed});
  lock.leave("a");
  CHECK(lock.posts == Posts{{"c", "next"}, {"f", "next"}, {"b", "wake"}});
  CHECK(std::holds_alternative<SlotDone>(lock.enter(mine)));
  CHECK(lock.posts == Posts{{"c", "next"}, {"e", "next"}});
  mine.token = named("c");
  CHECK(std::holds_alternative<SlotDone>(lock.enter(mine)));
  CHECK(lock.posts == Posts{{"d", "next"}, {"e", "next"}});
  (void)lock.granted(claim("b"));  // it has come: no witness is needed
  mine.token = named("g");
  CHECK(std::holds_alternative<SlotDone>(lock.enter(mine)));
  CHECK(lock.posts.empty());
}

TEST_CASE("a report of a lock that is reserved") {
  Lock lock;
  (void)lock.granted(claim("a"));
  (void)lock.queued(claim("b"));
  (void)lock.queued(claim("c"));
  lock.leave("a");
  const auto report = rules::report(*LockName::from("k"), lock.state, lock.now());
  REQUIRE(report.holders.size() == 1);
  CHECK(report.holders[0].holder.kind == Holder::Kind::reserved);
  CHECK_FALSE(report.holders[0].fence);
  CHECK(report.fence == begin_us);
  REQUIRE(report.waiters.size() == 1);
  CHECK(report.waiters[0].token == named("c"));
  CHECK(rules::report(*LockName::from("k"), {}, lock.now()).holders.empty());
}

TEST_CASE("a notice says lost or stop, to whom to answer, and why") {
  const auto lost = notice_in("lost abc app@web1");
  REQUIRE(lost);
  CHECK(lost->kind == Notice::Kind::lost);
  CHECK(lost->reply_to == "abc");
  CHECK(lost->why == "force-released by app@web1");
  const auto stop = notice_in("stop - superseded by\na newer run");
  REQUIRE(stop);
  CHECK(stop->kind == Notice::Kind::stop);
  CHECK(stop->reply_to.empty());
  CHECK(stop->why == "superseded by\\na newer run");
  CHECK(notice_in("stop ")->why.empty());
  CHECK(notice_in("stop abc")->reply_to == "abc");
  CHECK(notice_in("stop - " + std::string(1000, 'x'))->why.size() < 360);
  CHECK_FALSE(notice_in("wake"));
  CHECK_FALSE(notice_in("next"));
  CHECK_FALSE(notice_in(""));
}

}  // namespace unit::rules_decide
