// The memory of a list of locks, and its limits.
#include "store/lock_admin.hpp"

#include <doctest/doctest.h>

namespace unit::store_lock_admin {

using namespace store;

TEST_CASE("the size of a report grows with each text in it") {
  const std::string text(1000, 'x');
  LockReport report{*LockName::from("k"), {}, {}, {}, {}};
  auto before = size_of(report);
  const auto grows = [&] {
    return size_of(report) - std::exchange(before, size_of(report)) >= 1000;
  };
  report.mode = Mode{Mode::Kind::permits, 1, {text}};
  CHECK(grows());
  report.holders.push_back({Holder{Holder::Kind::holder, text, {}, {}}, {}});
  CHECK(grows());
  report.holders[0].holder.reason = text;
  CHECK(grows());
  report.waiters.push_back({Token::foreign(text), {}, {}});
  CHECK(grows());
  report.waiters[0].mode.names = {text};
  CHECK(grows());
  report.runs.push_back({Token::foreign(text), 1, {}, {}, {}, {}, {}});
  CHECK(grows());
  for (std::string* each : {&report.runs[0].why, &report.runs[0].slot, &report.runs[0].reason}) {
    *each = text;
    CHECK(grows());
  }
}

TEST_CASE("so many locks may be unread, and of another user's any number beside one of ours") {
  const Fault nonsense{Fault::Kind::unusable, "nonsense"};
  const Fault denied{Fault::Kind::denied, "denied"};
  for (const Fault& fault : {nonsense, denied}) {
    Listing listing;
    CHECK_FALSE(listing.gap());
    for (std::size_t i = 0; i < Listing::most_unread; ++i) {
      CHECK_FALSE(listing.add_unread(*LockName::from("k"), fault));
    }
    CHECK(listing.add_unread(*LockName::from("k"), fault)->why == fault.why);
    LockReport report{*LockName::from("ours"), {}, {}, {}, {}};
    CHECK_FALSE(listing.add(report, Listed::in_use));
    CHECK(listing.locks.empty());
    report.waiters.push_back({Token::foreign("w"), {}, {}});
    CHECK_FALSE(listing.add(report, Listed::in_use));
    CHECK(listing.locks.size() == 1);
    CHECK(listing.add_unread(*LockName::from("k"), fault).has_value() ==
          (fault.kind == Fault::Kind::unusable));
    CHECK(listing.gap()->kind == fault.kind);
  }
  CHECK(Listing{}.add_unread(*LockName::from("k"), {Fault::Kind::silent, "silent"}));
}

TEST_CASE("the gap of a list names one lock, and how many more") {
  Listing listing;
  const Fault denied{Fault::Kind::denied, "denied"};
  (void)listing.add_unread(*LockName::from("one"), denied);
  CHECK(listing.gap()->why == "the lock 'one': denied");
  (void)listing.add_unread(*LockName::from("two"), denied);
  CHECK(listing.gap()->why == "the lock 'two': denied; and 1 more");
  listing.missing = Fault{Fault::Kind::unavailable, "a node"};
  CHECK(listing.gap()->why == "a node");
}

TEST_CASE("a list that grows too long ends") {
  Listing listing;
  LockReport report{*LockName::from("k"), {}, {}, {}, {}};
  report.holders.push_back(
      {Holder{Holder::Kind::foreign, std::string(longest_list, 'x'), {}, {}}, {}});
  CHECK(listing.add(std::move(report), Listed::in_use)->kind == Fault::Kind::unusable);
}

}  // namespace unit::store_lock_admin
