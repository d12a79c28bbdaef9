// The arithmetic of an etcd lease.
#include <doctest/doctest.h>

#include "store/etcd/lease_time.hpp"

namespace unit::etcd_lease_time {

namespace {

using namespace store;
using namespace store::etcd;

Ttl ttl(int ms) {
  return *Ttl::from(Millis{ms});
}

Moment at(int ms) {
  return Moment{} + Millis{1'000'000} + Millis{ms};
}

}  // namespace

TEST_CASE("a lease is asked for in whole seconds, and never for less than the TTL") {
  CHECK(seconds_for(ttl(100).length()) == 1);
  CHECK(seconds_for(ttl(999).length()) == 1);
  CHECK(seconds_for(ttl(1'000).length()) == 1);
  CHECK(seconds_for(ttl(1'001).length()) == 2);
  CHECK(seconds_for(ttl(30'000).length()) == 30);
  CHECK(seconds_for(Ttl::longest) * 1'000 == Ttl::longest.count());
}

TEST_CASE("the length that a server tells") {
  CHECK(length_of(2) == Millis{2'000});
  CHECK_FALSE(length_of(0).has_value());
  CHECK_FALSE(length_of(-1).has_value());
  CHECK(length_of(INT64_MAX) == Ttl::longest);
}

TEST_CASE("a lease carries what was wanted, or less if the server granted less") {
  CHECK(etcd::lease_within(Millis{10'000}, ttl(9'500)).length() == Millis{9'500});
  CHECK(etcd::lease_within(Millis{10'000}, ttl(10'000)).length() == Millis{10'000});
  CHECK(etcd::lease_within(Millis{5'000}, ttl(10'000)).length() == Millis{5'000});
  CHECK(etcd::lease_within(Millis{0}, ttl(10'000)).length() == Ttl::shortest);
}

TEST_CASE("a lease counts from before the last renewal was sent, and from nothing else") {
  LeaseTime time;
  CHECK_FALSE(time.is_granted());
  CHECK(time.counts_from(at(5)) == at(5));
  time.renewed(at(0), Millis{9'000});
  CHECK(time.is_granted());
  CHECK(time.counts_from(at(5)) == at(0));
  time.renewed(at(3'000), Millis{9'000});
  CHECK(time.counts_from(at(4'000)) == at(3'000));
  // The answer to an earlier renewal comes late.
  time.renewed(at(1'000), Millis{9'000});
  CHECK(time.counts_from(at(4'000)) == at(3'000));
  CHECK(time.length() == Millis{9'000});
}

TEST_CASE("a lease is renewed when a third of it is over") {
  LeaseTime time;
  CHECK(time.due().is_never());
  time.renewed(at(0), Millis{9'000});
  CHECK(time.due() == Deadline::at(at(3'000)));
  time.renewed(at(3'000), Millis{9'000});
  CHECK(time.due() == Deadline::at(at(6'000)));
}

TEST_CASE("a lease is urgent when two thirds of it are over") {
  LeaseTime time;
  CHECK_FALSE(time.is_urgent(at(0)));
  time.renewed(at(0), Millis{9'000});
  CHECK_FALSE(time.is_urgent(at(5'999)));
  CHECK(time.is_urgent(at(6'000)));
}

TEST_CASE("a renewal that failed is tried again after a pause that grows") {
  LeaseTime time;
  time.renewed(at(0), Millis{9'000});
  time.failed(at(3'000));
  CHECK(time.due() == Deadline::at(at(3'050)));
  time.failed(at(3'050));
  CHECK(time.due() == Deadline::at(at(3'150)));
  for (int i = 0; i < 10; ++i) time.failed(at(4'000));
  CHECK(time.due() == Deadline::at(at(4'500)));
  time.renewed(at(4'000), Millis{9'000});
  CHECK(time.due() == Deadline::at(at(7'000)));
  time.failed(at(7'000));
  CHECK(time.due() == Deadline::at(at(7'050)));
}

}  // namespace unit::etcd_lease_time
