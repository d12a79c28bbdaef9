// The order of sequential nodes by ZooKeeper's numbers.
#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "store/zookeeper/numbers.hpp"

namespace unit::zookeeper_numbers {
namespace {

using namespace store::zookeeper;
using Names = std::vector<std::string>;

std::string node(char kind, char digit, const std::string& number) {
  return std::string{kind} + "-" + std::string(39, '0') + digit + "-" + number;
}

Names names_of(const std::vector<NumberedNode>& nodes) {
  Names names;
  for (const auto& each : nodes) names.push_back(each.name);
  return names;
}

}  // namespace

TEST_CASE("nodes are in the order of their numbers, whatever their names begin with") {
  const auto nodes = in_order(
      {node('x', '1', "0000000012"), node('s', '2', "0000000003"), node('x', '3', "0000000007")});
  CHECK(names_of(nodes) == Names{node('s', '2', "0000000003"), node('x', '3', "0000000007"),
                                 node('x', '1', "0000000012")});
  CHECK(nodes[2].number == 12);
}

TEST_CASE("a node without a number does not count") {
  const auto nodes =
      in_order({"note", "short-1", "lock-00000000x1", "_c_1234-lock-0000000002", "0000000001", ""});
  CHECK(names_of(nodes) == Names{"0000000001", "_c_1234-lock-0000000002"});
}

TEST_CASE("the order goes on where ZooKeeper's numbers wrap from 2^31 - 1 to -2^31") {
  const Names sorted{node('x', '1', "2147483646"), node('x', '2', "2147483647"),
                     node('x', '3', "-2147483648"), node('x', '4', "-2147483647")};
  CHECK(names_of(in_order(sorted)) == sorted);
  Names reversed{sorted.rbegin(), sorted.rend()};
  CHECK(names_of(in_order(reversed)) == sorted);
}

TEST_CASE("numbers from one end alone are as they are") {
  const auto high = in_order({node('x', '1', "2147483647"), node('x', '2', "2147483640")});
  CHECK(high[0].number == 2'147'483'640);
  CHECK(high[1].number == 2'147'483'647);
  // Nor is it a wrap where the negative ones are near zero: those came first.
  const Names sorted{node('x', '1', "-000000001"), node('x', '2', "2147483647")};
  const auto nodes = in_order({sorted[1], sorted[0]});
  CHECK(names_of(nodes) == sorted);
  CHECK(nodes[0].number == -1);
}

TEST_CASE("negative numbers are in order, up to zero and beyond") {
  const Names sorted{node('x', '1', "-2147483648"), node('s', '2', "-1000000000"),
                     node('x', '3', "-999999999"),  node('x', '4', "-000000001"),
                     node('x', '5', "0000000000"),  node('x', '6', "0000000001")};
  const Names reversed{sorted.rbegin(), sorted.rend()};
  const auto nodes = in_order(reversed);
  CHECK(names_of(nodes) == sorted);
  CHECK(nodes[0].number == -2147483648);
  CHECK(nodes[3].number == -1);
}

TEST_CASE("the dash before a number of another recipe is its own, unless there are two") {
  const auto number = [](const char* name) { return in_order({name}).at(0).number; };
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
  CHECK(names_of(in_order({names[2], names[0], names[1]})) == names);
  CHECK(has_a_tie(in_order(names)));
  CHECK_FALSE(has_a_tie(in_order({names[0], "b-0000000006"})));
  CHECK_FALSE(has_a_tie({}));
}

}  // namespace unit::zookeeper_numbers
