// The queue of a lock in the names of its nodes: whom does a waiter wait for?
#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "store/sessions/queue.hpp"

namespace unit::sessions_queue {

namespace {

using namespace store;
using namespace store::sessions;

/// 40 digits, which end in this one.
std::string nonce(char digit) {
  return std::string(39, '0') + digit;
}
Token token(char digit) {
  return Token::foreign("app@web1:1/job#" + nonce(digit));
}
std::string node(char kind, char digit, const std::string& number) {
  return std::string{kind} + "-" + nonce(digit) + "-" + number;
}

Mode mode_for(char kind) {
  if (kind == 'p') return {Mode::Kind::permits, 2};
  return {kind == 's' ? Mode::Kind::shared : Mode::Kind::exclusive};
}

LockQueue queue_of_kinds(const std::string& kinds) {
  LockQueue queue;
  for (const char kind : kinds) queue.push_back({"", mode_for(kind)});
  return queue;
}

/// Of a queue such as "xssx", the place that the last one waits for; -1: none.
int predecessor_in(const std::string& kinds) {
  const auto places = watched_by(queue_of_kinds(kinds), kinds.size() - 1);
  REQUIRE(places.size() <= 1);
  return places.empty() ? -1 : static_cast<int>(places.front());
}

}  // namespace

TEST_CASE("a node of another recipe counts as a writer") {
  const auto queue = queue_of({node('s', '2', "0000000003"), "_c_1234-lock-0000000007"});
  REQUIRE(queue.size() == 2);
  CHECK(queue[0].mode.kind == Mode::Kind::shared);
  CHECK(queue[1].mode.kind == Mode::Kind::exclusive);
}

TEST_CASE("a writer waits for the one right before it") {
  CHECK(predecessor_in("x") == -1);
  CHECK(predecessor_in("xx") == 0);
  CHECK(predecessor_in("xsx") == 1);
  CHECK(predecessor_in("ssx") == 1);
}

TEST_CASE("a reader waits for the nearest writer before it") {
  CHECK(predecessor_in("s") == -1);
  CHECK(predecessor_in("sss") == -1);
  CHECK(predecessor_in("xs") == 0);
  CHECK(predecessor_in("xsxss") == 2);
  CHECK(predecessor_in("ssxs") == 2);
}

TEST_CASE("the holders are one writer, or the readers before the first writer") {
  const auto holders = [](const std::string& kinds) { return holders_in(queue_of_kinds(kinds)); };
  CHECK(holders("") == 0);
  CHECK(holders("x") == 1);
  CHECK(holders("xss") == 1);
  CHECK(holders("ssxs") == 2);
  CHECK(holders("sss") == 3);
}

TEST_CASE("a token's node is found by the end of the token") {
  const auto queue = queue_of({node('x', '1', "0000000001"), node('s', '2', "0000000002")});
  CHECK(position_of(queue, token('1')) == 0u);
  CHECK(position_of(queue, token('2')) == 1u);
  CHECK_FALSE(position_of(queue, token('3')));
}

TEST_CASE("a part of a token finds no node") {
  const auto queue = queue_of({node('x', '1', "0000000001"), node('s', '2', "0000000002")});
  for (const char* part : {"x", "s", "-", "#", "0", "1", "", "x-", "a#0", "0000000001"}) {
    CHECK_FALSE(position_of(queue, Token::foreign(part)));
  }
  CHECK_FALSE(position_of(queue, Token::foreign("a#" + nonce('1').substr(1))));
  CHECK_FALSE(position_of(queue, Token::foreign("a#0" + nonce('1'))));
  CHECK_FALSE(position_of(queue, Token::foreign(node('x', '1', "00"))));
  // Another's node, whose name only begins as ours does.
  CHECK_FALSE(position_of(queue_of({node('x', '1', "more-0000000003")}), token('1')));
}

TEST_CASE("a claim's node is called by its mode and its token") {
  CHECK(prefix_of(token('7'), mode_for('x')) == "x-" + nonce('7') + "-");
  CHECK(prefix_of(token('7'), mode_for('s')) == "s-" + nonce('7') + "-");
}

TEST_CASE("of permits the first that agree hold, and only the first waiter hears of each of them") {
  using Places = std::vector<std::size_t>;
  CHECK(watched_by(queue_of_kinds("pp"), 1).empty());
  CHECK(watched_by(queue_of_kinds("ppp"), 2) == Places{0, 1});
  CHECK(watched_by(queue_of_kinds("pppp"), 3) == Places{2});
  CHECK(watched_by(queue_of_kinds("xp"), 1) == Places{0});
  CHECK(watched_by(queue_of_kinds("ppx"), 2) == Places{1});
  CHECK(watched_by(queue_of_kinds("ppxp"), 3) == Places{2});
  CHECK(holders_in(queue_of_kinds("ppp")) == 2);
  CHECK(waiters_before(queue_of_kinds("pppp"), 3) == 1);
  CHECK(waiters_before(queue_of_kinds("pppp"), 1) == 0);
}

TEST_CASE("a permit's node tells its number of permits, and a digest of their names") {
  const Mode plain{Mode::Kind::permits, 3};
  const Mode named{Mode::Kind::permits, 2, {"a", "b"}};
  const Mode turned{Mode::Kind::permits, 2, {"b", "a"}};
  CHECK(prefix_of(token('1'), plain) == "p3-" + nonce('1') + "-");
  CHECK(named_in_queue(plain) == plain);
  CHECK(named_in_queue(named) != named_in_queue(turned));
  for (const Mode& mode : {plain, named_in_queue(named), named_in_queue(turned)}) {
    const auto queue = queue_of({prefix_of(token('1'), mode) + "0000000001"});
    CHECK(queue[0].mode == mode);
    CHECK(position_of(queue, token('1')) == 0u);
  }
  const auto queue = queue_of({prefix_of(token('1'), named_in_queue(named)) + "0000000001"});
  CHECK(mode_of(queue[0], {token('1'), {"a", "b"}}) == named);
  for (const char* odd :
       {"p0-1", "p-1", "p03-1", "px-1", "p4294967299-1", "pool-lock-0000000001"}) {
    CHECK(queue_of({odd})[0].mode == Mode{});
  }
}

TEST_CASE("a node's text is its token, and what its owner is asked for") {
  CHECK(text_in("some token").token.text() == "some token");
  CHECK_FALSE(text_in("some token").stop);
  NodeText node{token('1')};
  node.stop = "cancelled by ops";
  CHECK(text_of(node) == token('1').text() + "\nstop cancelled by ops");
  CHECK(text_in(text_of(node)) == node);
  CHECK(text_in("").token.text().empty());
  CHECK(text_in("token\nstop ").stop == "");
}

TEST_CASE("a node's text tells that it outlives its process, or that its job has ended") {
  NodeText node{token('1')};
  node.is_step = true;
  CHECK(text_of(node) == token('1').text() + "\nstep");
  CHECK(text_in(text_of(node)) == node);
  node.is_kept = true;
  node.permit = 2;
  CHECK(text_in(text_of(node)) == node);
}

TEST_CASE("a node's text tells of its permit, and of the lines that a later version writes") {
  NodeText node{token('1'), {"a", "b"}, 2, true, "\nnew 1", "why"};
  const auto text = text_of(node);
  CHECK(text == token('1').text() + "\nnames a,b\npermit 2\nwaits\nnew 1\nstop why");
  CHECK(text_in(text) == node);
  CHECK(text_in("t\npermit 0").permit == 0);
  CHECK(text_in("t\n").others == "\n");
}

TEST_CASE("a superseded waiter is remembered by its digits, the oldest ones not for ever") {
  auto text = with_superseded("", {nonce('1'), nonce('2')}, "superseded by a\tb");
  text = with_superseded(text, {nonce('3')}, "superseded by c");
  CHECK(superseded_in(text, nonce('2')) == "superseded by a b");
  CHECK(superseded_in(text, nonce('3')) == "superseded by c");
  CHECK_FALSE(superseded_in(text, nonce('4')));
  CHECK_FALSE(superseded_in(text, nonce('1').substr(1)));
  CHECK_FALSE(superseded_in(text, ""));
  CHECK_FALSE(superseded_in("", nonce('1')));
  for (int i = 0; i < 30'000; ++i) text = with_superseded(std::move(text), {nonce('5')}, "later");
  CHECK(text.size() <= std::size_t{1} << 19);
  CHECK_FALSE(superseded_in(text, nonce('1')));
  CHECK(superseded_in(text, nonce('5')) == "later");
}

}  // namespace unit::sessions_queue
