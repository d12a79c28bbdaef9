// A lock as a record: its text, and the rules above read and swap.
#include <doctest/doctest.h>

#include <variant>

#include "record_server.hpp"
#include "store/records/record.hpp"

namespace unit::records_store {
namespace {

using namespace store;
using namespace store::records;
using rules::LockState;

CallLimit soon(std::int64_t ms = 200) {
  return {Deadline::after(base::now(), Millis{ms})};
}

const LockName name = *LockName::from("k");

Claim claim(const std::string& token, OnBusy on_busy = OnBusy::queue) {
  Claim claim{name, Token::foreign(token), *Ttl::from(Millis{30'000}), on_busy};
  claim.history = Millis{1'000'000};
  return claim;
}

/// A server, and clients of it.
struct Fleet {
  fake::RecordServer server{};
  std::unique_ptr<LockStore> one = open_store(fake::opener(server));
  std::unique_ptr<LockStore> other = open_store(fake::opener(server));
  std::unique_ptr<LockAdmin> admin = open_admin(fake::opener(server));

  static Lease granted(LockStore& store, const Claim& claim) {
    const auto attempt = store.try_acquire(claim, soon());
    REQUIRE(std::holds_alternative<Granted>(attempt));
    return std::get<Granted>(attempt).lease;
  }
  static Queued queued(LockStore& store, const Claim& claim) {
    const auto attempt = store.try_acquire(claim, soon());
    REQUIRE(std::holds_alternative<Queued>(attempt));
    return std::get<Queued>(attempt);
  }
  [[nodiscard]] std::vector<std::string> holders() const {
    std::vector<std::string> tokens;
    const auto report = admin->inspect(name, soon());
    REQUIRE(report);
    for (const auto& each : report->holders) tokens.push_back(each.holder.token);
    return tokens;
  }
};

using Tokens = std::vector<std::string>;

template <class Outcome, class Variant>
bool is(const Variant& outcome) {
  return std::holds_alternative<Outcome>(outcome);
}

/// One with everything in it.
LockState full_state() {
  LockState state;
  state.last_fence = 1'795'000'000'000'007;
  state.last_token = Token::foreign("ann@web1:7/job \\ \t\n#1");
  state.fence_ends = 1'795'000'086'400;
  state.mode = {Mode::Kind::permits, 2, {"gpu 0", "gpu1"}};
  state.holders = {{Token::foreign("a"), 5, 1'795'000'000'001, 1, 0},
                   {Token::foreign("b"), 7, 1'795'000'000'002, 2, 1'795'000'000'009}};
  state.reservation = rules::Reservation{Token::foreign("c"), {Mode::Kind::shared}, 12};
  state.queue = {{Token::foreign("c"), {Mode::Kind::shared}, 1'795'000'000'000'001, 17},
                 {Token::foreign("d"), {Mode::Kind::permits, 3}, 1'795'000'000'000'002, 18},
                 {Token::foreign("e"), {}, 1'795'000'000'000'003, 19}};
  state.letters = {{"a", "stop - tab\there\nand a line", 20}, {"b", "", 21}};
  state.runs_end = 22;
  state.runs = {{Token::foreign("a"), 5, 23, Millis{24}, "2026-11-26", 3, "a deploy",
                 rules::RememberedRun::End{25, {RunOutcome::Kind::exited, 7}, "for \\t a reason"}},
                {Token::foreign("b"), 7, 26, Millis{0}}};
  rules::SlotState done;
  done.kind = rules::SlotState::Kind::done;
  done.runs = {2, 1};
  done.token = "a";
  done.outcome = {RunOutcome::Kind::signalled, 9};
  done.fence = 5;
  done.ended_ms = 27;
  state.slots = {{"2026-11-26", done, 28}, {"x", {}, 29}};
  return state;
}

}  // namespace

TEST_CASE("a record that is written can be read") {
  const LockState state = full_state();
  const auto text = text_of(Record{state});
  const auto again = record_in(text);
  REQUIRE(again);
  CHECK(again->state == state);
  CHECK(again->unknown.empty());
  CHECK(record_in("")->state == LockState{});
  CHECK(text_of(*again) == text);
}

TEST_CASE("lines of a later version are kept, and what only it understands is not read") {
  const std::string later = "rlock\t1\nweather\tfine\t3\nfence\t5\ta\t6";
  const auto record = record_in(later);
  REQUIRE(record);
  CHECK(record->state.last_fence == 5);
  CHECK(record->unknown == Tokens{"weather\tfine\t3"});
  CHECK(text_of(*record).find("\nweather\tfine\t3") != std::string::npos);
  CHECK_FALSE(record_in("rlock\t2"));
  CHECK_FALSE(record_in("rlock\t1\nfence\t5\ta\t6\tmore"));
  CHECK_FALSE(record_in("something else"));
  CHECK_FALSE(record_in("rlock\t1\n" + std::string(longest_record, 'x')));
}

TEST_CASE("of a record that is cut or changed anywhere, nothing is read that is not there") {
  const auto text = text_of(Record{full_state()});
  std::size_t refused = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    for (const char each : {'\t', '\n', 'x', '-', '9'}) {
      auto changed = text;
      changed[i] = each;
      if (const auto record = record_in(changed)) {
        const auto again = record_in(text_of(*record));
        REQUIRE(again);
        CHECK(again->state == record->state);
      } else {
        ++refused;
      }
    }
    (void)record_in(text.substr(0, i));
  }
  CHECK(refused > text.size());
  for (const auto* line :
       {"fence\t-1\ta\t0", "fence\t18446744073709551616\ta\t0", "fence\t1\ta\t-1",
        "hold\ta\t1\t99999999999999999\t0\t0", "wait\ta\tpermits=1\t1\t1",
        "wait\ta\tpermits=\t1\t1", "wait\ta\tone-of=a,a\t1\t1", "mode\tall",
        "slot\ts\t1\thalf\t0\t0\t\t\tlost 0\t0\t0", "run\ta\t1\t1\t1\t\t0\t\t5\tflew 3\t"}) {
    CAPTURE(line);
    CHECK_FALSE(record_in(std::string{"rlock\t1\n"} + line));
  }
}

TEST_CASE("one holds it, the next one waits, is woken by the release, and has a higher fence") {
  Fleet fleet;
  const auto first = Fleet::granted(*fleet.one, claim("a"));
  const auto place = Fleet::queued(*fleet.other, claim("b"));
  CHECK(place.ahead == 0);
  CHECK(is<StillWaiting>(fleet.other->await_turn(claim("b"), soon(20))));
  CHECK(is<Released>(fleet.one->release(name, first.token, {}, soon())));
  CHECK(is<ClaimAgain>(fleet.other->await_turn(claim("b"), soon())));
  const auto second = Fleet::granted(*fleet.other, claim("b"));
  CHECK(second.fence > first.fence);
  CHECK(fleet.holders() == Tokens{"b"});
}

TEST_CASE("a wake that comes before the waiter listens is not missed") {
  Fleet fleet;
  const auto first = Fleet::granted(*fleet.one, claim("a"));
  (void)Fleet::queued(*fleet.other, claim("b"));
  CHECK(is<Released>(fleet.one->release(name, first.token, {}, soon())));
  CHECK(is<ClaimAgain>(fleet.other->await_turn(claim("b"), soon())));
}

TEST_CASE("a word to a waiter that comes before it listens is not missed") {
  Fleet fleet;
  (void)Fleet::granted(*fleet.one, claim("a"));
  (void)Fleet::queued(*fleet.other, claim("b"));
  REQUIRE(*fleet.admin->ask_to_stop(name, {Token::foreign("b")}, "cancelled by ann", soon()) == 1);
  const auto turn = fleet.other->await_turn(claim("b"), soon());
  REQUIRE(is<Notice>(turn));
  CHECK(std::get<Notice>(turn).why == "cancelled by ann");
}

TEST_CASE("the quicker claim keeps the lock, and the other one looks again") {
  Fleet fleet;
  fleet.server.before_swap = [&] { (void)Fleet::granted(*fleet.other, claim("b")); };
  const auto attempt = fleet.one->try_acquire(claim("a", OnBusy::give_up), soon());
  CHECK(is<Busy>(attempt));
  CHECK(fleet.holders() == Tokens{"b"});
}

TEST_CASE("a release that was decided on an older record gives back no newer grant") {
  Fleet fleet;
  const auto first = Fleet::granted(*fleet.one, claim("a"));
  Fence second = 0;
  fleet.server.before_swap = [&] {
    REQUIRE(fleet.admin->force_release(name, {first.token}, "ann", soon()));
    second = Fleet::granted(*fleet.other, claim("b")).fence;
  };
  CHECK(is<NotOurs>(fleet.one->release(name, first.token, {}, soon())));
  CHECK(fleet.holders() == Tokens{"b"});
  CHECK(second > first.fence);
}

TEST_CASE("a grant whose answer was lost is found by asking again") {
  Fleet fleet;
  fleet.server.swaps = {fake::RecordServer::Swapped::answer_lost};
  REQUIRE(is<Fault>(fleet.one->try_acquire(claim("a"), soon())));
  const auto attempt = fleet.one->try_acquire(claim("a"), soon());
  REQUIRE(is<Granted>(attempt));
  CHECK(std::get<Granted>(attempt).again);
  CHECK(fleet.holders() == Tokens{"a"});
}

TEST_CASE("one that supersedes and asks again stops nobody who came after it") {
  for (const bool answer_lost : {false, true}) {
    CAPTURE(answer_lost);
    Fleet fleet;
    const auto third = open_store(fake::opener(fleet.server));
    const auto first = Fleet::granted(*fleet.one, claim("holder"));
    const auto listener = fleet.one->listener(name, first.token);
    listener->listen(soon());
    auto older = claim("a");
    older.supersede = "superseded by a";
    if (answer_lost) fleet.server.swaps = {fake::RecordServer::Swapped::answer_lost};
    CHECK(is<Fault>(fleet.other->try_acquire(older, soon())) == answer_lost);
    CHECK(listener->take());
    ::usleep(30'000);
    fleet.server.pass(10);  // less than the client's clock says, which may be fast
    (void)Fleet::queued(*third, claim("b"));
    CHECK(is<Released>(fleet.one->release(name, first.token, {}, soon())));
    REQUIRE(*fleet.admin->ask_to_stop(name, {Token::foreign("a")}, "x", soon()) == 1);
    fleet.other->withdraw(older, soon());
    const auto newer = Fleet::granted(*third, claim("b"));
    const auto its_listener = third->listener(name, newer.token);
    its_listener->listen(soon());
    ::usleep(30'000);
    fleet.server.pass(10);
    (void)fleet.other->try_acquire(older, soon());
    CHECK_FALSE(its_listener->take());
  }
}

TEST_CASE("waiters hear of a lease that ends before their next sign of life") {
  Fleet fleet;
  const auto third = open_store(fake::opener(fleet.server));
  const auto fourth = open_store(fake::opener(fleet.server));
  const auto last = open_store(fake::opener(fleet.server));
  const auto first = Fleet::granted(*fleet.one, claim("a"));
  auto short_lease = claim("b");
  short_lease.ttl = *Ttl::from(Millis{10'000});
  (void)Fleet::queued(*fleet.other, short_lease);
  (void)Fleet::queued(*third, claim("c"));
  (void)Fleet::queued(*fourth, claim("d"));
  CHECK(is<StillWaiting>(fourth->await_turn(claim("d"), soon(1))));
  (void)Fleet::queued(*last, claim("e"));
  CHECK(is<Released>(fleet.one->release(name, first.token, {}, soon())));
  CHECK(is<StillWaiting>(fourth->await_turn(claim("d"), soon(1))));
  CHECK(is<StillWaiting>(fourth->await_turn(claim("d"), soon(150))));
  (void)Fleet::granted(*fleet.other, short_lease);
  CHECK(is<ClaimAgain>(fourth->await_turn(claim("d"), soon(1'000))));
  const auto place = Fleet::queued(*fourth, claim("d"));
  REQUIRE(place.look_in);
  CHECK(*place.look_in <= Millis{10'200});
}

TEST_CASE("a withdrawal that is not heard is said once more") {
  Fleet fleet;
  (void)Fleet::granted(*fleet.one, claim("a"));
  (void)Fleet::queued(*fleet.other, claim("b"));
  fleet.server.swaps = {fake::RecordServer::Swapped::never_arrived};
  fleet.other->withdraw(claim("b"), soon());
  CHECK(fleet.admin->inspect(name, soon())->waiters.empty());
}

TEST_CASE("a lease is reckoned from before the question that was answered") {
  Fleet fleet;
  const auto before = base::now();
  fleet.server.before_swap = [&] {
    ::usleep(30'000);
    (void)fleet.other->try_acquire(claim("b", OnBusy::give_up), soon());
    REQUIRE(is<Released>(fleet.other->release(name, Token::foreign("b"), {}, soon())));
  };
  const auto lease = Fleet::granted(*fleet.one, claim("a"));
  CHECK(lease.asked_at >= before + std::chrono::milliseconds{30});
  CHECK(lease.valid_until.moment() <= lease.asked_at + std::chrono::milliseconds{30'000});
  const auto renewal = fleet.one->renew(name, lease.token, lease.ttl, soon());
  REQUIRE(is<Renewed>(renewal));
  CHECK(std::get<Renewed>(renewal).asked_at > lease.asked_at);
}

TEST_CASE(
    "a holder changes the record that it wrote without a read, unless another did meanwhile") {
  for (const bool is_late_with_news : {false, true}) {
    CAPTURE(is_late_with_news);
    Fleet fleet;
    fleet.server.is_late_with_news = is_late_with_news;
    const auto lease = Fleet::granted(*fleet.one, claim("a"));
    CHECK(fleet.server.reads == 1);
    // Or the lease would end in the same millisecond as before.
    fleet.server.pass(10);
    ::usleep(2'000);
    CHECK(is<Renewed>(fleet.one->renew(name, lease.token, lease.ttl, soon())));
    CHECK(fleet.server.reads == 1);
    (void)Fleet::queued(*fleet.other, claim("b"));
    CHECK(fleet.server.reads == 2);
    ::usleep(2'000);
    // A refused swap tells how the record stands; where it does not, a read does.
    CHECK(is<Renewed>(fleet.one->renew(name, lease.token, lease.ttl, soon())));
    CHECK(fleet.server.reads == (is_late_with_news ? 3 : 2));
    CHECK(is<Released>(fleet.one->release(name, lease.token, {}, soon())));
    CHECK(fleet.server.reads == (is_late_with_news ? 3 : 2));
    (void)Fleet::granted(*fleet.other, claim("b"));
  }
}

TEST_CASE("a remembered record answers no question by itself") {
  Fleet fleet;
  const auto lease = Fleet::granted(*fleet.one, claim("a"));
  REQUIRE(fleet.admin->force_release(name, {lease.token}, "ann", soon()));
  (void)Fleet::granted(*fleet.other, claim("b"));
  // By the remembered record it is queued for once more, or has the lock.
  CHECK(is<NotOurs>(fleet.one->renew(name, lease.token, lease.ttl, soon())));
  CHECK(is<NotOurs>(fleet.one->release(name, lease.token, {}, soon())));
  CHECK(fleet.holders() == Tokens{"b"});
}

TEST_CASE("a lease is shorter by the time between what decided it and its swap") {
  Fleet fleet;
  fleet.server.before_swap = [&] { fleet.server.pass(900); };
  const auto before = base::now();
  const auto lease = Fleet::granted(*fleet.one, claim("a"));
  CHECK(lease.valid_until.moment() <= base::now() + std::chrono::milliseconds{29'100});
  CHECK(lease.valid_until.moment() >= before + std::chrono::milliseconds{28'000});
  CHECK(fleet.server.reads == 1);
  // If the server's clock was set forward, what was decided before that is decided anew.
  fleet.server.before_swap = [&] { fleet.server.pass(40'000); };
  CHECK(is<NotOurs>(fleet.one->renew(name, lease.token, lease.ttl, soon())));
}

TEST_CASE("a clock of the server that was set back makes no lease longer") {
  Fleet fleet;
  const auto lease = Fleet::granted(*fleet.one, claim("a"));
  fleet.server.before_swap = [&] { fleet.server.pass(-60'000); };
  const auto renewal = fleet.one->renew(name, lease.token, lease.ttl, soon());
  REQUIRE(is<Renewed>(renewal));
  CHECK(std::get<Renewed>(renewal).valid_until.moment() <=
        base::now() + std::chrono::milliseconds{30'000});
}

TEST_CASE("a lease that has ended is nobody's, and who comes late to refresh it hears that") {
  Fleet fleet;
  const auto lease = Fleet::granted(*fleet.one, claim("a"));
  CHECK(is<StillOurs>(fleet.one->check(name, lease.token, soon())));
  fleet.server.pass(30'001);
  CHECK(is<Elsewhere>(fleet.one->check(name, lease.token, soon())));
  CHECK(is<NotOurs>(fleet.one->renew(name, lease.token, lease.ttl, soon())));
  (void)Fleet::granted(*fleet.other, claim("b"));
  const auto standing = fleet.one->check(name, lease.token, soon());
  REQUIRE(is<Elsewhere>(standing));
  CHECK(std::get<Elsewhere>(standing).holder->token == "b");
}

TEST_CASE("a holder hears a word once, whether it is posted, in the record, or both") {
  Fleet fleet;
  const auto lease = Fleet::granted(*fleet.one, claim("a"));
  const auto early = fleet.one->listener(name, lease.token);
  early->listen(soon());
  REQUIRE(*fleet.admin->ask_to_stop(name, {lease.token}, "cancelled by ann", soon()) == 1);
  const auto notice = early->take();
  REQUIRE(notice);
  CHECK(notice->kind == Notice::Kind::stop);
  CHECK(notice->why == "cancelled by ann");
  early->listen(soon());  // after a lost connection, it is in the record
  CHECK_FALSE(early->take());
  const auto late = fleet.one->listener(name, lease.token);
  late->listen(soon());
  CHECK(late->take());
  CHECK_FALSE(late->take());
}

TEST_CASE("cancel gets the holder's last word, also if the post was lost") {
  for (const bool loses_posts : {false, true}) {
    CAPTURE(loses_posts);
    Fleet fleet;
    const auto lease = Fleet::granted(*fleet.one, claim("a"));
    const auto listener = fleet.one->listener(name, lease.token);
    listener->listen(soon());
    REQUIRE(*fleet.admin->ask_to_stop(name, {lease.token}, "x", soon()) == 1);
    const auto notice = listener->take();
    REQUIRE(notice);
    fleet.server.loses_posts = loses_posts;
    fleet.one->confirm_stopped(name, *notice, soon());
    CHECK(fleet.admin->await_last_word(name, soon(20)) == LastWord::stopped);
  }
}

TEST_CASE("a lost connection for posts is told, and no reason to give up") {
  Fleet fleet;
  (void)Fleet::granted(*fleet.one, claim("a"));
  (void)Fleet::queued(*fleet.other, claim("b"));
  fleet.server.refuses_to_listen = true;
  const auto turn = fleet.other->await_turn(claim("b"), soon());
  REQUIRE(is<ClaimAgain>(turn));
  CHECK(std::get<ClaimAgain>(turn).cut == "connection refused");
  const auto listener = fleet.one->listener(name, Token::foreign("a"));
  listener->listen(soon());
  CHECK_FALSE(listener->take());
  CHECK(listener->due().left(base::now()) <= Millis{1'000});
}

TEST_CASE("a word that was lost on its way is found at the next sign of life") {
  Fleet fleet;
  (void)Fleet::granted(*fleet.one, claim("a"));
  (void)Fleet::queued(*fleet.other, claim("b"));
  CHECK(is<StillWaiting>(fleet.other->await_turn(claim("b"), soon(1))));
  fleet.server.loses_posts = true;
  REQUIRE(*fleet.admin->ask_to_stop(name, {Token::foreign("b")}, "cancelled by ann", soon()) == 1);
  CHECK(is<StillWaiting>(fleet.other->await_turn(claim("b"), soon(1))));
  (void)Fleet::queued(*fleet.other, claim("b"));
  const auto turn = fleet.other->await_turn(claim("b"), soon());
  REQUIRE(is<Notice>(turn));
  CHECK(std::get<Notice>(turn).why == "cancelled by ann");
}

TEST_CASE("a claim with another token hears its own words") {
  Fleet fleet;
  const auto first = Fleet::granted(*fleet.one, claim("a"));
  (void)Fleet::queued(*fleet.other, claim("b"));
  CHECK(is<StillWaiting>(fleet.other->await_turn(claim("b"), soon(1))));
  fleet.other->withdraw(claim("b"), soon());
  (void)Fleet::queued(*fleet.other, claim("c"));
  CHECK(is<StillWaiting>(fleet.other->await_turn(claim("c"), soon(1))));
  CHECK(is<Released>(fleet.one->release(name, first.token, {}, soon())));
  CHECK(is<ClaimAgain>(fleet.other->await_turn(claim("c"), soon(20))));
}

TEST_CASE("a server that says the same word without end holds no waiter beyond its limit") {
  Fleet fleet;
  (void)Fleet::granted(*fleet.one, claim("a"));
  (void)Fleet::queued(*fleet.other, claim("b"));
  CHECK(is<StillWaiting>(fleet.other->await_turn(claim("b"), soon(1))));
  for (int i = 0; i < 1'000'000; ++i) fleet.server.lines[0].lock()->posts.emplace_back("next");
  const auto begin = base::now();
  (void)fleet.other->await_turn(claim("b"), soon(20));
  CHECK(base::now() - begin < std::chrono::milliseconds{200});
}

TEST_CASE("a record that is none is never overwritten") {
  Fleet fleet;
  fleet.server.records["k"] = {"rlock\t2\nnew\tthings", 3};
  const auto attempt = fleet.one->try_acquire(claim("a"), soon());
  REQUIRE(is<Fault>(attempt));
  CHECK(std::get<Fault>(attempt).kind == Fault::Kind::unusable);
  CHECK_FALSE(fleet.admin->inspect(name, soon()));
  CHECK(fleet.server.records["k"].text == "rlock\t2\nnew\tthings");
  CHECK(fleet.server.writes == 0);
}

TEST_CASE("lines of a later version in a record outlive our changes") {
  Fleet fleet;
  fleet.server.records["k"] = {"rlock\t1\nweather\tfine", 3};
  const auto lease = Fleet::granted(*fleet.one, claim("a"));
  REQUIRE(is<Released>(fleet.one->release(name, lease.token, {}, soon())));
  CHECK(fleet.server.records["k"].text.find("\nweather\tfine") != std::string::npos);
}

TEST_CASE(
    "a lock that others change all the time is asked for as long as there is time, and no longer") {
  Fleet fleet;
  std::function<void()> meddle = [&] {
    ++fleet.server.records["k"].version;
    fleet.server.before_swap = meddle;
  };
  fleet.server.before_swap = meddle;
  const auto begin = base::now();
  const auto attempt = fleet.one->try_acquire(claim("a"), soon(100));
  REQUIRE(is<Fault>(attempt));
  CHECK(std::get<Fault>(attempt).kind == Fault::Kind::unavailable);
  CHECK(base::now() - begin < std::chrono::milliseconds{1'000});
  CHECK(fleet.server.reads < 100);  // it paused in between
  CHECK(fleet.holders().empty());
}

TEST_CASE("a list has the locks that match, and those in use") {
  Fleet fleet;
  const auto lease = Fleet::granted(*fleet.one, claim("a"));
  fleet.server.records["other"] = {"rlock\t1", 1};
  auto all = fleet.admin->list("*", Listed::in_use, Millis{100}, soon());
  REQUIRE(all);
  REQUIRE(all->locks.size() == 1);
  CHECK(all->locks[0].name == name);
  CHECK(fleet.admin->list("o*", Listed::in_use, Millis{100}, soon())->locks.empty());
  CHECK(fleet.admin->list("*", Listed::remembered, Millis{100}, soon())->locks.size() == 1);
}

TEST_CASE("a time of the server that cannot be is no time: nothing is written by it") {
  Fleet fleet;
  (void)Fleet::granted(*fleet.one, claim("a"));
  const auto before = fleet.server.records[name.text()].text;
  fleet.server.now_us = static_cast<std::uint64_t>(-5);
  const auto attempt = fleet.other->try_acquire(claim("b"), soon());
  REQUIRE(is<Fault>(attempt));
  CHECK(std::get<Fault>(attempt).kind == Fault::Kind::unusable);
  CHECK(fleet.server.records[name.text()].text == before);
  // Also where only the answer to a swap has it.
  Fleet fresh;
  fresh.server.before_swap = [&] { fresh.server.now_us = static_cast<std::uint64_t>(-5); };
  CHECK(is<Fault>(fresh.one->try_acquire(claim("a"), soon())));
}

TEST_CASE("if the queue is full, its waiters are served") {
  Fleet fleet;
  const auto lease = Fleet::granted(*fleet.one, claim("holder"));
  Record record = *record_in(fleet.server.records[name.text()].text);
  const auto believed = static_cast<rules::TimeMs>(fleet.server.now_us / 1000) + 30'000;
  const auto waiter = [](std::uint64_t number) {
    return Token::foreign("waiter " + std::to_string(number) + std::string(1000, '.'));
  };
  const auto fill = [&](std::size_t size) {
    while (text_of(record).size() < size) {
      const auto number = record.state.queue.size() + 1;
      record.state.queue.push_back({waiter(number), {}, number, believed});
    }
    fleet.server.records[name.text()] = {text_of(record),
                                         fleet.server.records[name.text()].version};
  };
  fill(longest_record - longest_record / 4);
  std::size_t joined = 0;
  for (;; ++joined) {
    const auto store = open_store(fake::opener(fleet.server));
    const auto attempt =
        store->try_acquire(claim(std::string(1000, '-') + std::to_string(joined)), soon());
    if (!is<Queued>(attempt)) {
      REQUIRE(std::get<Fault>(attempt).kind == Fault::Kind::unavailable);
      break;
    }
  }
  CHECK(joined > 10);
  CHECK(is<Renewed>(fleet.one->renew(name, lease.token, lease.ttl, soon())));
  CHECK(is<Released>(fleet.one->release(name, lease.token, {}, soon())));
  for (std::uint64_t number = 1; number <= 60; ++number) {
    auto next = claim(waiter(number).text());
    next.reason = std::string(200, 'r');
    const auto store = open_store(fake::opener(fleet.server));
    const auto granted = Fleet::granted(*store, next);
    Parting parting;
    parting.history = next.history;
    parting.end = RunEnd{{RunOutcome::Kind::exited, 0}, std::string(200, 'w')};
    CHECK(is<Released>(store->release(name, granted.token, parting, soon())));
  }
}

TEST_CASE(
    "slots without number leave room: those that end first are forgotten, one that runs is not") {
  Fleet fleet;
  Record record;
  constexpr int number = 6000;
  const auto now = static_cast<rules::TimeMs>(fleet.server.now_us / 1000);
  for (int i = 0; i < number; ++i) {
    rules::SlotState state{
        rules::SlotState::Kind::done, {1, 0}, "user@host:1/job#" + std::string(40, 'f')};
    state.outcome = RunOutcome{RunOutcome::Kind::exited, 0};
    // The first one ends before all others.
    if (i == 0) state.kind = rules::SlotState::Kind::running;
    record.state.slots.push_back({"slot " + std::to_string(i), state, now + 1'000'000 + i});
  }
  fleet.server.records[name.text()] = {text_of(record), 1};
  // As large as an earlier version may have left it.
  CHECK(fleet.server.records[name.text()].text.size() < longest_record);
  CHECK(fleet.server.records[name.text()].text.size() > longest_slots);
  (void)Fleet::granted(*fleet.one, claim("a"));
  const auto kept = record_in(fleet.server.records[name.text()].text);
  REQUIRE(kept);
  const auto& slots = kept->state.slots;
  CHECK(text_of(*kept).size() < longest_slots + 4096);
  CHECK(slots.size() > 2000);
  CHECK(slots.front().id == "slot 0");
  CHECK(slots.back().id == "slot 5999");
  CHECK(slots[1].id == "slot " + std::to_string(number - slots.size() + 1));
}

TEST_CASE("a record that cannot be read hides none of the others, and the list says so") {
  Fleet fleet;
  (void)Fleet::granted(*fleet.one, claim("a"));
  fleet.server.records["a-broken-one"] = {"rlock\t2", 1};
  const auto listing = fleet.admin->list("*", Listed::in_use, Millis{100}, soon());
  REQUIRE(listing);
  CHECK(listing->locks.size() == 1);
  REQUIRE(listing->gap());
  CHECK(listing->gap()->why.find("a-broken-one") != std::string::npos);
  CHECK_FALSE(fleet.admin->list("k*", Listed::in_use, Millis{100}, soon())->gap());
}

/// Its list never ends.
class Endless final : public fake::Records {
 public:
  Endless(fake::RecordServer& server, bool repeats) : fake::Records{server}, repeats_{repeats} {}
  Result<std::vector<Named>> page(const std::string& /*after*/,
                                  const CallLimit& /*limit*/) override {
    std::vector<Named> page;
    for (int i = 0; i < 1'000; ++i) page.push_back({fmt::format("{:012}", next_++), {}});
    if (repeats_) next_ = 0;
    return page;
  }

 private:
  bool repeats_;
  int next_ = 0;
};

TEST_CASE("a list without an end is given up") {
  for (const bool repeats : {false, true}) {
    CAPTURE(repeats);
    fake::RecordServer server;
    const auto admin = open_admin([&] { return std::make_unique<Endless>(server, repeats); });
    const auto listing = admin->list("x*", Listed::in_use, Millis{100}, soon());
    REQUIRE_FALSE(listing);
    CHECK(listing.error().kind == Fault::Kind::unusable);
  }
}

}  // namespace unit::records_store
