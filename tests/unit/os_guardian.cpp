#include "os/guardian_line.hpp"

#include <doctest/doctest.h>

#include <csignal>

#include "os/poll.hpp"

namespace unit::os_guardian {

using os::GuardianLine;
using os::HungUp;
using os::Order;
using os::Report;

namespace {

struct Line {
  GuardianLine rlock;
  GuardianLine guardian;
  Line() { GuardianLine::connect(rlock, guardian); }
};

}  // namespace

TEST_CASE("a report arrives as it was sent") {
  Line line;
  using Kind = Report::Kind;
  for (const auto kind : {Kind::started, Kind::not_forked, Kind::not_executed, Kind::stopped,
                          Kind::ended, Kind::all_ended, Kind::signalled, Kind::answer}) {
    REQUIRE(line.guardian.send(Report{kind, 4711, -3}));
    const auto taken = line.rlock.take<Report>();
    const auto* report = std::get_if<Report>(&taken);
    REQUIRE(report != nullptr);
    CHECK(report->kind == kind);
    CHECK(report->job == 4711);
    CHECK(report->value == -3);
  }
}

TEST_CASE("an order arrives as it was sent") {
  Line line;
  const auto until = base::Moment{} + std::chrono::hours{5};
  REQUIRE(line.rlock.send(Order{Order::Kind::signal, SIGTERM, {}}));
  REQUIRE(line.rlock.send(Order{Order::Kind::keep_until, 0, until}));
  const auto first = line.guardian.take<Order>();
  REQUIRE(std::holds_alternative<Order>(first));
  CHECK(std::get<Order>(first).kind == Order::Kind::signal);
  CHECK(std::get<Order>(first).signal == SIGTERM);
  const auto second = line.guardian.take<Order>();
  REQUIRE(std::holds_alternative<Order>(second));
  CHECK(std::get<Order>(second).kind == Order::Kind::keep_until);
  CHECK(std::get<Order>(second).until == until);
}

TEST_CASE("a line without a message says so at once") {
  Line line;
  CHECK(std::holds_alternative<std::monostate>(line.rlock.take<Report>()));
  CHECK(std::holds_alternative<std::monostate>(line.guardian.take<Order>()));
  CHECK_FALSE(os::is_readable(line.rlock.descriptor()));
}

TEST_CASE("the last report is read before the hang-up") {
  Line line;
  REQUIRE(line.guardian.send(Report{Report::Kind::all_ended, 1, 0}));
  line.guardian.close();
  CHECK(os::is_readable(line.rlock.descriptor()));
  CHECK(std::holds_alternative<Report>(line.rlock.take<Report>()));
  CHECK(std::holds_alternative<HungUp>(line.rlock.take<Report>()));
  CHECK(std::holds_alternative<HungUp>(line.rlock.take<Report>()));
  CHECK_FALSE(line.rlock.send(Order{Order::Kind::signal, SIGTERM, {}}));
}

TEST_CASE("the last report is read although its sender left orders unread") {
  Line line;
  REQUIRE(line.rlock.send(Order{Order::Kind::signal, SIGTERM, {}}));
  REQUIRE(line.guardian.send(Report{Report::Kind::all_ended, 1, 0}));
  line.guardian.close();
  CHECK(std::holds_alternative<Report>(line.rlock.take<Report>()));
  CHECK(std::holds_alternative<HungUp>(line.rlock.take<Report>()));
}

TEST_CASE("a line that is full does not block, and says so") {
  Line line;
  int sent = 0;
  while (sent < 1'000'000 && line.rlock.send(Order{Order::Kind::signal, sent, {}})) ++sent;
  CHECK(sent > 10);
  CHECK(sent < 1'000'000);
  for (int i = 0; i < sent; ++i) {
    const auto taken = line.guardian.take<Order>();
    REQUIRE(std::holds_alternative<Order>(taken));
    CHECK(std::get<Order>(taken).signal == i);
  }
  CHECK(std::holds_alternative<std::monostate>(line.guardian.take<Order>()));
}

}  // namespace unit::os_guardian
