// The arithmetic of a quorum: what the answers of all nodes together mean.
#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "store/quorum/math.hpp"
#include "store/quorum/nodes.hpp"

namespace unit::quorum_math {

namespace {

using namespace store;
using namespace store::quorum;

const Moment start{};

Deadline at_ms(int ms) {
  return Deadline::after(start, Millis{ms});
}

Token token(const std::string& text) {
  return Token::foreign(text);
}

Attempt grant(Fence fence, int valid_ms = 1'000, int asked_ms = 0) {
  return Granted{{*LockName::from("key"), token("ours"), *Ttl::from(Millis{1'000}), at_ms(valid_ms),
                  fence, start + Millis{asked_ms}}};
}
Attempt busy(const std::string& holder) {
  return Busy{Holder{Holder::Kind::holder, holder, std::nullopt, std::nullopt}, 0};
}
Attempt nobody_in_particular() {
  return Busy{std::nullopt, 0};
}
Fault fault(Fault::Kind kind) {
  return {kind, "why"};
}

std::optional<std::string> busy_with(const Attempt& attempt) {
  const auto* found = std::get_if<Busy>(&attempt);
  if (found == nullptr || !found->holder) return std::nullopt;
  return found->holder->token;
}

}  // namespace

TEST_CASE("a majority is more than half") {
  const std::vector<std::size_t> expected{1, 1, 2, 2, 3, 3, 4, 4, 5, 5};
  for (std::size_t nodes = 0; nodes < expected.size(); ++nodes) {
    CHECK(majority(nodes) == expected[nodes]);
  }
}

TEST_CASE("a question is decided when the missing answers can no longer change it") {
  for (std::size_t nodes = 1; nodes <= 9; ++nodes) {
    for (std::size_t yes = 0; yes <= nodes; ++yes) {
      for (std::size_t no = 0; yes + no <= nodes; ++no) {
        Answers<Attempt> answers(nodes);
        for (std::size_t i = 0; i < yes; ++i) answers[i] = grant(1);
        for (std::size_t i = 0; i < no; ++i) answers[nodes - 1 - i] = busy("other");
        const bool granted_now = 2 * yes > nodes;
        const bool impossible = 2 * (nodes - no) <= nodes;
        CHECK(count<Granted>(answers) == yes);
        CHECK(late(answers).size() == nodes - yes - no);
        CHECK(decided<Granted>(answers, late(answers).size()) == (granted_now || impossible));
        CHECK(granted(answers).has_value() == granted_now);
      }
    }
  }
}

TEST_CASE("late names the nodes without an answer") {
  Answers<Attempt> answers(4);
  answers[1] = grant(1);
  answers[2] = fault(Fault::Kind::silent);
  CHECK(late(answers) == std::vector<std::size_t>{0, 3});
}

TEST_CASE("a late node has its time: more if it answered before, little if it was silent") {
  using Nanos = Moment::duration;
  const auto now = start + Millis{100};
  const auto left = [&](Moment began, Nanos unheard_for) {
    const auto call = last_call(began, now, unheard_for);
    CHECK(call.for_the_reliable == Deadline::after(now, LastCall::longest));
    const auto others = call.for_others.left(now);
    CHECK(others == std::max(call.for_the_connected.left(now), LastCall::to_connect));
    return call.for_the_connected.left(now);
  };
  CHECK(left(now, Nanos{0}) == LastCall::shortest);
  CHECK(left(now - Millis{2}, Nanos{0}) == LastCall::shortest);
  // Where the others took long, it may take twice as long.
  CHECK(left(now - Millis{80}, Nanos{0}) == Millis{80});
  // A withdrawal gets as much time as the claim had, and a quarter.
  CHECK(left(now - Millis{1}, Millis{80}) == Millis{99});
  CHECK(left(now - Millis{80}, Millis{80}) == Millis{80});
  CHECK(left(start, Millis{10'000}) == LastCall::longest);
  CHECK(left(now - Millis{5'000}, Nanos{0}) == LastCall::longest);
}

TEST_CASE("a node that is far away has as long again as its connection took") {
  const Nodes nodes{std::vector<std::unique_ptr<QuorumNode>>(3)};
  const auto began = base::now() - Millis{10};
  const auto until = nodes.last_call(Nodes::Question::claim, began);
  const auto far = Deadline::at(began + Millis{80});
  CHECK(until(0, began + Millis{40}) == far);
  CHECK(until(0, began) < far);
  CHECK(until(0, began).left(began) >= Millis{10} + LastCall::shortest);
  CHECK(until(0, std::nullopt).left(began) >= Millis{10} + LastCall::to_connect);
}

TEST_CASE("since keeps the answers that came later") {
  Answers<Attempt> first(3);
  first[0] = grant(1);
  Answers<Attempt> all = first;
  all[2] = grant(2);
  const auto later = since(first, all);
  CHECK_FALSE(later[0]);
  CHECK_FALSE(later[1]);
  CHECK(later[2]);
}

TEST_CASE("a lease of a majority has the highest fence and the earliest times") {
  Answers<Attempt> answers(3);
  answers[0] = grant(5, 900, 20);
  answers[1] = busy("other");
  answers[2] = grant(7, 800, 10);
  auto lease = granted(answers);
  REQUIRE(lease);
  CHECK(lease->fence == 7);
  CHECK(lease->valid_until == at_ms(800));
  CHECK(lease->asked_at == start + Millis{10});

  answers[1] = grant(6, 1'000, 0);
  lease = granted(answers);
  REQUIRE(lease);
  CHECK(lease->fence == 7);
  CHECK(lease->asked_at == start);
}

TEST_CASE("a node may hold what it was asked for unless it said that it does not") {
  CHECK(may_have_it(std::nullopt));
  CHECK(may_have_it(grant(1)));
  CHECK(may_have_it(fault(Fault::Kind::silent)));
  CHECK(may_have_it(fault(Fault::Kind::unusable)));
  CHECK_FALSE(may_have_it(fault(Fault::Kind::unreachable)));
  CHECK_FALSE(may_have_it(fault(Fault::Kind::unavailable)));
  CHECK_FALSE(may_have_it(fault(Fault::Kind::denied)));
  CHECK_FALSE(may_have_it(busy("other")));
}

TEST_CASE("busy is said with the holder of a majority only") {
  CHECK(busy_with(why_not({busy("a"), busy("a"), std::nullopt})) == "a");
  CHECK(busy_with(why_not({busy("b"), busy("a"), busy("a")})) == "a");
  // Three clients share the nodes: the lock is nobody's.
  const auto split = why_not({busy("a"), busy("b"), grant(1)});
  REQUIRE(std::holds_alternative<Busy>(split));
  CHECK_FALSE(busy_with(split));
  CHECK(std::holds_alternative<Busy>(why_not({nobody_in_particular(), busy("a"), std::nullopt})));
}

TEST_CASE("readers have a lock although the servers name different ones") {
  const auto read_by = [](const std::string& oldest) -> Attempt {
    Holder holder{Holder::Kind::holder, oldest, std::nullopt, std::nullopt};
    holder.others = 2;
    return Busy{holder, 0};
  };
  CHECK(busy_with(why_not({read_by("a"), read_by("b"), read_by("c")})) == "b");
  CHECK(busy_with(why_not({read_by("a"), read_by("b"), grant(1)})) == "b");
  const auto split = why_not({read_by("a"), busy("b"), grant(1)});
  REQUIRE(std::holds_alternative<Busy>(split));
  CHECK_FALSE(busy_with(split));
}

TEST_CASE("a claim of another mode is also an answer") {
  const Attempt other_mode = ModeConflict{{Mode::Kind::permits, 3}, token("a")};
  CHECK(std::holds_alternative<Busy>(why_not({other_mode, busy("a"), std::nullopt})));
}

TEST_CASE("too few answers are a fault") {
  const auto why = why_not({busy("a"), fault(Fault::Kind::unreachable), std::nullopt});
  const auto* found = std::get_if<Fault>(&why);
  REQUIRE(found != nullptr);
  CHECK(found->kind == Fault::Kind::silent);
  CHECK(found->why == "2 of 3 servers: no answer in time");
}

TEST_CASE("one fault stands for all: what waiting cannot heal comes first") {
  using Kind = Fault::Kind;
  const std::vector<Kind> order{Kind::denied, Kind::unusable, Kind::unavailable, Kind::silent,
                                Kind::unreachable};
  for (std::size_t i = 0; i < order.size(); ++i) {
    for (std::size_t j = i; j < order.size(); ++j) {
      CHECK(summary({fault(order[j]), fault(order[i])}, 3).kind == order[i]);
    }
  }
  CHECK(summary(std::vector<Fault>{}, 3).kind == Kind::unavailable);
  CHECK(summary(std::vector<Fault>{}, 3).why == "the servers do not agree");
}

TEST_CASE("a summary counts the servers that refused, not those that were only late") {
  using Kind = Fault::Kind;
  CHECK(summary({fault(Kind::denied), fault(Kind::silent), fault(Kind::denied)}, 5).why ==
        "2 of 5 servers: why");
  CHECK(summary({fault(Kind::unreachable), fault(Kind::silent)}, 5).why == "2 of 5 servers: why");
  // One that we did not wait for, as the others had decided it.
  const Fault not_awaited{Kind::silent, std::string{store::cut_short}};
  CHECK(summary({fault(Kind::unreachable), not_awaited, fault(Kind::unreachable)}, 3).why ==
        "2 of 3 servers: why");
  CHECK(summary({fault(Kind::unreachable), not_awaited}, 3).kind == Kind::silent);
  CHECK(summary({not_awaited, not_awaited}, 3).why == "2 of 3 servers: interrupted");
  // One that was silent may have done it, whatever the others say.
  CHECK(summary({fault(Kind::unreachable), fault(Kind::silent)}, 5).kind == Kind::silent);
}

TEST_CASE("a missing answer is a silent fault") {
  Answers<Renewal> answers(3);
  answers[0] = Renewed{at_ms(5), start};
  answers[1] = fault(Fault::Kind::denied);
  CHECK(summary(answers).why == "1 of 3 servers: why");
  answers[1].reset();
  CHECK(summary(answers).kind == Fault::Kind::silent);
  CHECK(summary(answers).why == "2 of 3 servers: no answer in time");
}

TEST_CASE("grants with the same number are alike if one was given before") {
  using Pairs = std::vector<std::pair<std::size_t, std::size_t>>;
  const auto again = [](Fence fence) {
    auto granted = std::get<Granted>(grant(fence));
    granted.again = true;
    return Attempt{std::move(granted)};
  };
  CHECK(alike({grant(1), again(2), again(3)}).empty());
  CHECK(alike({grant(1), busy("other"), again(1)}) == Pairs{{0, 2}});
  CHECK(alike({std::nullopt, again(4), grant(4)}) == Pairs{{1, 2}});
  CHECK(alike({again(4), grant(4), again(4)}) == Pairs{{0, 1}, {0, 2}, {1, 2}});
  CHECK(alike({grant(4), grant(4), grant(4)}).empty());
}

TEST_CASE("the fence of a grant is the number of a majority, otherwise the lowest") {
  CHECK_FALSE(fence_among({}, 3));
  CHECK(fence_among({9, 4, 9}, 3) == 9);
  CHECK(fence_among({4, 9, 9}, 3) == 9);
  CHECK(fence_among({9, 4}, 3) == 4);
  CHECK(fence_among({7, 8, 9}, 5) == 7);
  CHECK(fence_among({7}, 1) == 7);
}

TEST_CASE("a majority holds a lock as long as the shortest node of its longest majority") {
  const auto ours = [](int until_ms, std::optional<Fence> fence) -> std::optional<Standing> {
    return StillOurs{at_ms(until_ms), fence};
  };
  const std::optional<Standing> elsewhere = Elsewhere{};
  auto held = standing({ours(100, 5), ours(300, 5), ours(200, 4)});
  REQUIRE(held);
  CHECK(held->until == at_ms(200));
  CHECK(held->fence == 5);
  CHECK(standing({ours(100, 5), ours(300, 5), elsewhere})->until == at_ms(100));
  CHECK_FALSE(standing({ours(100, 5), elsewhere, std::nullopt}));
  CHECK(standing({ours(100, 5), ours(300, 5), ours(200, std::nullopt)})->until == at_ms(100));
  held = standing({ours(100, std::nullopt), ours(100, std::nullopt), elsewhere});
  REQUIRE(held);
  CHECK_FALSE(held->fence);
}

TEST_CASE("the reason of a failure is known when a majority told, or too few are left to tell") {
  const Attempt refused = Fault{Fault::Kind::unusable, "nonsense"};
  const Attempt held = Busy{std::nullopt, 0};
  CHECK_FALSE(quorum::reason_is_known({refused, held, std::nullopt}));
  CHECK(quorum::reason_is_known({refused, held, held}));
  CHECK(quorum::reason_is_known({refused, refused, std::nullopt}));
  CHECK_FALSE(quorum::reason_is_known({refused, std::nullopt, std::nullopt}));
}

TEST_CASE("a node is open to us where nobody is in line") {
  const auto with = [](Holder::Kind kind, std::size_t waiting) -> std::optional<Attempt> {
    return Busy{Holder{kind, "other", std::nullopt, std::nullopt}, waiting};
  };
  using Kind = Holder::Kind;
  CHECK(open_to_us({grant(1), with(Kind::holder, 0), std::nullopt}) == 2);
  CHECK(open_to_us({with(Kind::holder, 1), with(Kind::kept, 0), with(Kind::reserved, 0)}) == 0);
}

TEST_CASE("a report names those who wait at a majority, in the order that a majority has") {
  const auto name = *LockName::from("key");
  const auto report = [&](const std::string& holder, const std::vector<std::string>& line) {
    LockReport result{name, Mode{}, {}, 1, {}};
    if (!holder.empty()) {
      result.holders.push_back({{Holder::Kind::holder, holder, std::nullopt, std::nullopt}, 1});
    }
    for (const auto& each : line)
      result.waiters.push_back({Token::foreign(each), Mode{}, Millis{7}});
    return result;
  };
  const auto line = [&](const std::vector<LockReport>& reports) {
    std::string tokens;
    for (const auto& each : merged(name, reports, 3).waiters) tokens += each.token.text();
    return tokens;
  };
  CHECK(line({report("h", {"a", "b"}), report("h", {"a", "b"}), report("h", {"a", "b"})}) == "ab");
  CHECK(line({report("h", {"b", "a"}), report("h", {"a", "b"}), report("h", {"a", "b"})}) == "ab");
  // One server has not heard that it left, or the others not that it came.
  CHECK(line({report("h", {"z", "a"}), report("h", {"a"}), report("h", {"a"})}) == "a");
  // The third may also have it.
  CHECK(line({report("h", {"z", "a"}), report("h", {"a"})}) == "az");
  // A client that has the lock on one of them waits on the others; one that has it on two holds it.
  CHECK(line({report("b", {"a"}), report("h", {"a", "b"}), report("h", {"a", "b"})}) == "ab");
  CHECK(line({report("a", {"b"}), report("a", {"b"}), report("h", {"a", "b"})}) == "b");
}

TEST_CASE("a report names the holders that a majority has or may have") {
  const auto name = *LockName::from("key");
  const auto report = [&](const std::string& holder, Fence fence) {
    LockReport result{name, Mode{}, {}, fence, {}};
    if (!holder.empty()) {
      result.holders.push_back({{Holder::Kind::holder, holder, std::nullopt, std::nullopt}, fence});
    }
    return result;
  };
  auto all = merged(name, {report("a", 5), report("a", 5), report("b", 9)}, 3);
  REQUIRE(all.holders.size() == 1);
  CHECK(all.holders[0].holder.token == "a");
  CHECK(all.holders[0].fence == 5);
  CHECK(all.fence == 5);  // 9 was given to nobody who holds it
  CHECK(all.mode == Mode{});

  // The third node did not answer, and may hold either.
  all = merged(name, {report("a", 5)}, 3);
  CHECK(all.holders.size() == 1);
  all = merged(name, {report("a", 5), report("b", 9)}, 3);
  CHECK(all.holders.size() == 2);

  auto told = report("a", 5);  // the others have not heard yet that its job has ended
  told.holders[0].holder.kind = Holder::Kind::kept;
  all = merged(name, {report("a", 5), told, report("a", 5)}, 3);
  CHECK(all.holders[0].holder.kind == Holder::Kind::kept);

  // Two readers; the last fence is the higher of theirs, whichever comes first.
  auto both = report("b", 7);
  both.holders.push_back(report("a", 5).holders[0]);
  both.mode = Mode{Mode::Kind::shared};
  all = merged(name, {both, both, report("", 3)}, 3);
  CHECK(all.holders.size() == 2);
  CHECK(all.fence == 7);
  CHECK(all.mode == Mode{Mode::Kind::shared});

  all = merged(name, {report("", 5), report("", 7), report("b", 9)}, 3);
  CHECK(all.holders.empty());
  CHECK(all.fence == 9);
  CHECK_FALSE(all.mode);
}

TEST_CASE("no more runs are told than a server remembers, where each has some that others missed") {
  const auto name = *LockName::from("key");
  std::vector<LockReport> reports(3, LockReport{name, std::nullopt, {}, std::nullopt, {}});
  for (unsigned run = 0; run < 60; ++run) {
    const Millis ago{run + 1};
    reports[run % 3].runs.push_back({Token::foreign("u#" + std::to_string(run)),
                                     1'000 - run,
                                     ago,
                                     {},
                                     ago,
                                     {RunOutcome::Kind::exited},
                                     {}});
  }
  const auto all = merged(name, reports, 3);
  REQUIRE(all.runs.size() == 50);
  CHECK(all.runs.front().token.text() == "u#0");
  CHECK(all.runs.back().token.text() == "u#49");
}

}  // namespace unit::quorum_math
