// Whether a signal was for rlock alone or for its job as well: what the witnesses say, the time
// given.
#include "hold/addressees.hpp"

#include <doctest/doctest.h>

#include <csignal>

namespace unit::hold_addressees {

namespace {

using base::Millis;
using base::Moment;
using hold::Addressees;
using Witness = Addressees::Witness;

const Moment start{std::chrono::hours{1}};
Moment at(int millis) {
  return start + Millis{millis};
}
constexpr pid_t sender = 4711;
constexpr int asking = 50;  // when the witnesses are asked

os::Signal signal(int number, pid_t pid = sender) {
  return {number, os::Sender::process, pid};
}

/// Both answer what they are asked at that time.
void answer(Addressees& addressees, Moment now) {
  const auto question = addressees.question(now);
  REQUIRE(question);
  addressees.answered(Witness::in_group, *question);
  addressees.answered(Witness::guardian, *question);
}

bool job_has_it(Addressees& addressees, Moment now = at(asking)) {
  const auto decided = addressees.take(now);
  REQUIRE(decided);
  return decided->job_has_it;
}

}  // namespace

TEST_CASE("the other addressees of a signal show whether the job has it") {
  struct Row {
    bool in_group;
    bool guardian;
    bool by_manager;
    bool job_has_it;
  };
  for (const auto& row :
       {Row{false, false, false, false}, Row{true, false, false, true},
        Row{true, true, false, false}, Row{false, true, false, false}, Row{true, true, true, true},
        Row{false, true, true, false}, Row{true, false, true, true}}) {
    CAPTURE(row.in_group);
    CAPTURE(row.guardian);
    CAPTURE(row.by_manager);
    Addressees addressees;
    addressees.came(signal(SIGTERM), row.by_manager, start);
    if (row.in_group) addressees.witnessed(Witness::in_group, SIGTERM, sender, at(1));
    if (row.guardian) addressees.witnessed(Witness::guardian, SIGTERM, sender, at(2));
    answer(addressees, at(asking));
    CHECK(job_has_it(addressees) == row.job_has_it);
    CHECK(addressees.empty());
    CHECK(addressees.due().is_never());
  }
}

TEST_CASE("only the same signal of the same sender at about that time is the same") {
  struct Row {
    int number;
    pid_t pid;
    int seen;
    bool same;
  };
  for (const auto& row : {Row{SIGUSR1, sender, 0, true}, Row{SIGUSR1, sender, -50, true},
                          Row{SIGUSR1, sender, -51, false}, Row{SIGUSR1, sender, 49, true},
                          Row{SIGUSR2, sender, 0, false}, Row{SIGUSR1, sender + 1, 0, false}}) {
    CAPTURE(row.number);
    CAPTURE(row.pid);
    CAPTURE(row.seen);
    Addressees addressees;
    addressees.witnessed(Witness::in_group, row.number, row.pid, at(row.seen));
    addressees.came(signal(SIGUSR1), false, start);
    answer(addressees, at(asking));
    CHECK(job_has_it(addressees) == row.same);
  }
}

TEST_CASE("timeout(1) signals its child and then the group: the job has both, as one") {
  Addressees addressees;
  addressees.came(signal(SIGTERM), false, start);
  addressees.came(signal(SIGTERM), false, at(1));
  addressees.witnessed(Witness::in_group, SIGTERM, sender, at(1));
  answer(addressees, at(asking + 1));
  CHECK(job_has_it(addressees));
  CHECK(job_has_it(addressees));
}

TEST_CASE("nothing is decided before both have answered, and then in the order of arrival") {
  Addressees addressees;
  addressees.came(signal(SIGHUP), false, start);
  addressees.came(signal(SIGUSR1), false, at(1));
  CHECK(addressees.due() == base::Deadline::at(at(asking)));
  CHECK_FALSE(addressees.question(at(asking - 1)));
  const auto question = addressees.question(at(asking + 1));
  REQUIRE(question);
  CHECK_FALSE(addressees.question(at(asking + 1)));
  addressees.answered(Witness::in_group, *question);
  CHECK_FALSE(addressees.take(at(asking + 1)));
  addressees.answered(Witness::guardian, *question);
  CHECK(addressees.take(at(asking + 1))->signal.number == SIGHUP);
  CHECK(addressees.take(at(asking + 1))->signal.number == SIGUSR1);
  CHECK_FALSE(addressees.take(at(asking + 1)));
}

TEST_CASE("an answer to an earlier question is none to a later one") {
  Addressees addressees;
  addressees.came(signal(SIGHUP), false, start);
  const auto first = addressees.question(at(asking));
  addressees.came(signal(SIGUSR1), false, at(asking));
  REQUIRE(addressees.question(at(2 * asking)));
  addressees.answered(Witness::in_group, *first);
  addressees.answered(Witness::guardian, *first);
  CHECK(addressees.take(at(2 * asking))->signal.number == SIGHUP);
  CHECK_FALSE(addressees.take(at(2 * asking)));
}

TEST_CASE("a witness that does not answer for a second proves nothing: the signal is passed on") {
  Addressees addressees;
  addressees.came(signal(SIGTERM), false, start);
  addressees.witnessed(Witness::in_group, SIGTERM, sender, start);
  const auto question = addressees.question(at(asking));
  addressees.answered(Witness::in_group, *question);
  CHECK(addressees.due() == base::Deadline::at(at(asking + 1'000)));
  CHECK_FALSE(addressees.take(at(asking + 999)));
  CHECK_FALSE(job_has_it(addressees, at(asking + 1'000)));
}

TEST_CASE("a witness that has ended has said all it knew") {
  Addressees addressees;
  addressees.witnessed(Witness::in_group, SIGTERM, sender, start);
  addressees.came(signal(SIGTERM), false, start);
  const auto question = addressees.question(at(asking));
  addressees.answered(Witness::in_group, *question);
  addressees.gone(Witness::guardian);
  CHECK(job_has_it(addressees));
}

TEST_CASE("once the job has ended the witnesses are asked at once") {
  Addressees addressees;
  addressees.came(signal(SIGTERM), false, start);
  CHECK_FALSE(addressees.question(at(1)));
  addressees.hurry();
  CHECK(addressees.due().passed(at(1)));
  answer(addressees, at(1));
  CHECK_FALSE(job_has_it(addressees, at(1)));
}

}  // namespace unit::hold_addressees
