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

Mode mode_of(char kind) {
  return {kind == 's' ? Mode::Kind::shared : Mode::Kind::exclusive};
}

/// Of a queue such as "xssx", the place that the last one waits for; -1: none.
int predecessor_in(const std::string& kinds) {
  LockQueue queue;
  for (const char kind : kinds) queue.push_back({"", mode_of(kind)});
  const auto place = predecessor_of(queue, queue.size() - 1);
  return place ? static_cast<int>(*place) : -1;
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
  const auto holders = [](const std::string& kinds) {
    LockQueue queue;
    for (const char kind : kinds) queue.push_back({"", mode_of(kind)});
    return holders_in(queue);
  };
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
  CHECK(prefix_of(token('7'), mode_of('x')) == "x-" + nonce('7') + "-");
  CHECK(prefix_of(token('7'), mode_of('s')) == "s-" + nonce('7') + "-");
}

TEST_CASE("a node's text is its token, and what its owner is asked for") {
  CHECK(text_in("some token").token.text() == "some token");
  CHECK_FALSE(text_in("some token").stop);
  const auto text = text_in(text_of(token('1'), "cancelled by ops"));
  CHECK(text.token == token('1'));
  CHECK(text.stop == "cancelled by ops");
  CHECK(text_in("").token.text().empty());
  CHECK(text_in("token\nstop ").stop == "");
}

}  // namespace unit::sessions_queue
