// The queue of a lock on ZooKeeper: whom does a waiter wait for?
#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "store/zookeeper/queue_order.hpp"

namespace unit::zookeeper_queue_order {

namespace {

using namespace store;
using namespace store::zookeeper;

using Names = std::vector<std::string>;

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

/// Of a queue such as "xssx", the place that the last one waits for; -1: none.
int predecessor_in(const std::string& kinds) {
  LockQueue queue;
  for (const char kind : kinds) queue.push_back({"", kind == 's', 0});
  const auto place = predecessor_of(queue, queue.size() - 1);
  return place ? static_cast<int>(*place) : -1;
}

Names names_of(const LockQueue& queue) {
  Names names;
  for (const auto& each : queue) names.push_back(each.name);
  return names;
}

}  // namespace

TEST_CASE("a queue is in the order of its numbers, whatever the names begin with") {
  const auto queue = queue_of(
      {node('x', '1', "0000000012"), node('s', '2', "0000000003"), node('x', '3', "0000000007")});
  CHECK(names_of(queue) == Names{node('s', '2', "0000000003"), node('x', '3', "0000000007"),
                                 node('x', '1', "0000000012")});
  CHECK(queue[0].shared);
  CHECK_FALSE(queue[1].shared);
  CHECK(queue[2].number == 12);
}

TEST_CASE("a node of another recipe counts as a writer, one without a number not at all") {
  const auto queue =
      queue_of({"note", "short-1", "lock-00000000x1", "_c_1234-lock-0000000002", "0000000001", ""});
  CHECK(names_of(queue) == Names{"0000000001", "_c_1234-lock-0000000002"});
  CHECK_FALSE(queue[0].shared);
  CHECK_FALSE(queue[1].shared);
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
    for (const char kind : kinds) queue.push_back({"", kind == 's', 0});
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

TEST_CASE("the order goes on where ZooKeeper's numbers wrap from 2^31 - 1 to -2^31") {
  const Names in_order{node('x', '1', "2147483646"), node('x', '2', "2147483647"),
                       node('x', '3', "-2147483648"), node('x', '4', "-2147483647")};
  CHECK(names_of(queue_of(in_order)) == in_order);
  Names reversed{in_order.rbegin(), in_order.rend()};
  CHECK(names_of(queue_of(reversed)) == in_order);
  CHECK(position_of(queue_of(reversed), token('3')) == 2u);
}

TEST_CASE("numbers from one end alone are as they are") {
  const auto high = queue_of({node('x', '1', "2147483647"), node('x', '2', "2147483640")});
  CHECK(high[0].number == 2'147'483'640);
  CHECK(high[1].number == 2'147'483'647);
  // Nor is it a wrap where the negative ones are near zero: those came first.
  const Names in_order{node('x', '1', "-000000001"), node('x', '2', "2147483647")};
  const auto queue = queue_of({in_order[1], in_order[0]});
  CHECK(names_of(queue) == in_order);
  CHECK(queue[0].number == -1);
}

TEST_CASE("negative numbers are in order, up to zero and beyond") {
  const Names in_order{node('x', '1', "-2147483648"), node('s', '2', "-1000000000"),
                       node('x', '3', "-999999999"),  node('x', '4', "-000000001"),
                       node('x', '5', "0000000000"),  node('x', '6', "0000000001")};
  const Names reversed{in_order.rbegin(), in_order.rend()};
  const auto queue = queue_of(reversed);
  CHECK(names_of(queue) == in_order);
  CHECK(queue[0].number == -2147483648);
  CHECK(queue[3].number == -1);
  for (char digit = '1'; digit <= '6'; ++digit) {
    CHECK(position_of(queue, token(digit)) == static_cast<std::size_t>(digit - '1'));
  }
}

TEST_CASE("the dash before a number of another recipe is its own, unless there are two") {
  const auto number = [](const char* name) { return queue_of({name}).at(0).number; };
  CHECK(number("lock-1000000000") == 1'000'000'000);
  CHECK(number("lock--1000000000") == -1'000'000'000);
  CHECK(number("_c_12-lock--000000007") == -7);
  CHECK(number("ab__lock__-1000000000") == -1'000'000'000);
  CHECK(number("LOCK-1000000000") == 1'000'000'000);
  CHECK(number("LOCKZ-1000000000") == 1'000'000'000);
  CHECK(number("lock9-1000000000") == 1'000'000'000);
  CHECK(number("a:-1000000000") == -1'000'000'000);
  CHECK(number("a~-1000000000") == -1'000'000'000);
  CHECK(number("lock1000000000") == 1'000'000'000);
  CHECK(number("-1000000000") == -1'000'000'000);
  CHECK(number("1000000000") == 1'000'000'000);
}

TEST_CASE("nodes with the same number have one order for all") {
  const Names names{"a-0000000005", "b-0000000005", "c-0000000005"};
  CHECK(names_of(queue_of({names[2], names[0], names[1]})) == names);
  CHECK(has_a_tie(queue_of(names)));
  CHECK_FALSE(has_a_tie(queue_of({names[0], "b-0000000006"})));
  CHECK_FALSE(has_a_tie({}));
}

TEST_CASE("a claim's node is called by its mode and its token") {
  CHECK(prefix_of(token('7'), false) == "x-" + nonce('7') + "-");
  CHECK(prefix_of(token('7'), true) == "s-" + nonce('7') + "-");
}

TEST_CASE("a lock's node is its name, percent-encoded, below the base") {
  const ZooKeeper ensemble{"host:2181", "/rlock", "", {}};
  CHECK(path_of(ensemble, *LockName::from("batch:a/b")) == "/rlock/batch:a%2Fb");
  CHECK(last_word_of(ensemble, token('7')) == "/rlock/" + nonce('7') + "-stopped");
}

TEST_CASE("a node's data is its token, and what its owner is asked for") {
  CHECK(data_in("some token").token.text() == "some token");
  CHECK_FALSE(data_in("some token").stop);
  const auto data = data_in(data_of(token('1'), "cancelled by ops"));
  CHECK(data.token == token('1'));
  CHECK(data.stop == "cancelled by ops");
  CHECK(data_in("").token.text().empty());
  CHECK(data_in("token\nstop ").stop == "");
}

}  // namespace unit::zookeeper_queue_order
