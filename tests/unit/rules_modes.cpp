// Which modes agree, how many hold at once, and whom a waiter waits for.
#include "store/rules/modes.hpp"

#include <doctest/doctest.h>

namespace unit::rules_modes {
namespace {

using namespace store;
using namespace store::rules;
using Kind = Mode::Kind;

const Mode exclusive{};
const Mode shared{Kind::shared};
const Mode two{Kind::permits, 2};
const Mode three{Kind::permits, 3};
const Mode named{Kind::permits, 2, {"a", "b"}};
const Mode turned{Kind::permits, 2, {"b", "a"}};

/// x wants the lock alone, s is a reader; 3 and 2 want one of as many permits.
Modes queue_of(std::string_view letters) {
  Modes modes;
  for (const char each : letters) {
    modes.push_back(each == 'x' ? &exclusive : each == 's' ? &shared : each == '3' ? &three : &two);
  }
  return modes;
}

int awaited_in(std::string_view letters) {
  const auto place = awaited_by(queue_of(letters), letters.size() - 1);
  return place ? static_cast<int>(*place) : -1;
}

}  // namespace

TEST_CASE("which modes go together, and which hold together") {
  struct Row {
    const Mode& one;
    const Mode& other;
    bool go;
    bool hold;
  };
  for (const Row& row :
       {Row{exclusive, exclusive, true, false}, Row{exclusive, shared, true, false},
        Row{shared, shared, true, true}, Row{three, three, true, true},
        Row{three, two, false, false}, Row{two, named, false, false}, Row{named, named, true, true},
        Row{named, turned, false, false}, Row{three, shared, false, false},
        Row{three, exclusive, false, false}}) {
    CAPTURE(static_cast<int>(row.one.kind));
    CAPTURE(static_cast<int>(row.other.kind));
    CHECK(go_together(row.one, row.other) == row.go);
    CHECK(go_together(row.other, row.one) == row.go);
    CHECK(hold_together(row.one, row.other) == row.hold);
    CHECK(hold_together(row.other, row.one) == row.hold);
  }
}

TEST_CASE("a lock has a capacity in each mode") {
  CHECK(capacity(exclusive) == 1u);
  CHECK(capacity(three) == 3u);
  CHECK(capacity(named) == 2u);
  CHECK_FALSE(capacity(shared));
}

TEST_CASE("there is room for one writer, any readers, and so many permits") {
  CHECK(has_room({}, exclusive));
  CHECK(has_room({}, shared));
  CHECK(has_room({}, three));
  CHECK(has_room(queue_of("ssss"), shared));
  CHECK_FALSE(has_room(queue_of("s"), exclusive));
  CHECK_FALSE(has_room(queue_of("x"), shared));
  CHECK_FALSE(has_room(queue_of("x"), exclusive));
  CHECK_FALSE(has_room(queue_of("sx"), shared));
  CHECK(has_room(queue_of("33"), three));
  CHECK_FALSE(has_room(queue_of("333"), three));
  CHECK_FALSE(has_room(queue_of("2"), three));
}

TEST_CASE("a permit is the lowest that is free") {
  CHECK(free_permit({}, three) == 1);
  CHECK(free_permit({1}, three) == 2);
  CHECK(free_permit({3, 1}, three) == 2);
  CHECK(free_permit({2, 1}, three) == 3);
  CHECK(free_permit({2}, three) == 1);
  CHECK(free_permit({0, 1}, three) == 2);  // an earlier version takes none
  CHECK(free_permit({3, 1, 2}, three) == 0);
  CHECK(free_permit({}, exclusive) == 0);
  CHECK(free_permit({}, shared) == 0);
}

TEST_CASE("the holders and waiters that the last of a queue waits for") {
  struct Row {
    const char* queue;
    int awaited;  // -1: it holds the lock
  };
  for (const Row& row :
       {Row{"x", -1}, Row{"xx", 0}, Row{"xsx", 1}, Row{"ssx", 1}, Row{"s", -1}, Row{"sss", -1},
        Row{"xs", 0}, Row{"xsxss", 2}, Row{"ssxs", 2}, Row{"3", -1}, Row{"333", -1}, Row{"3333", 0},
        Row{"333333", 2}, Row{"2", -1}, Row{"222", 0}}) {
    CAPTURE(row.queue);
    CHECK(awaited_in(row.queue) == row.awaited);
  }
}

TEST_CASE(
    "the holders are one writer, the readers before the first writer, or as many as there are "
    "permits") {
  struct Row {
    const char* queue;
    std::size_t holders;
  };
  for (const Row& row : {Row{"", 0}, Row{"x", 1}, Row{"xss", 1}, Row{"ssxs", 2}, Row{"sss", 3},
                         Row{"3", 1}, Row{"333", 3}, Row{"33333", 3}}) {
    CAPTURE(row.queue);
    CHECK(holders_among(queue_of(row.queue)) == row.holders);
  }
}

}  // namespace unit::rules_modes
