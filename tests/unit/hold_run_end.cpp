// The meaning of a run's end for the server, and for the run's slot.
#include <doctest/doctest.h>

#include <csignal>

#include "hold/run_end.hpp"

namespace unit::hold_run_end {

using hold::run_end;
using hold::slot_end;
using hold::StoppedFor;
using Kind = store::RunOutcome::Kind;
using End = store::Parting::SlotEnd;
using Reason = StoppedFor::Reason;

namespace {

const os::ExitStatus well{0};
const os::ExitStatus exited_3{3 << 8};
const os::ExitStatus killed{SIGKILL};

}  // namespace

TEST_CASE("a job that ended by itself: 0 has done the slot, anything else has failed") {
  CHECK(run_end(well, {}).outcome == store::RunOutcome{Kind::exited, 0});
  CHECK(run_end(exited_3, {}).outcome == store::RunOutcome{Kind::exited, 3});
  CHECK(run_end(killed, {}).outcome == store::RunOutcome{Kind::signalled, SIGKILL});
  CHECK(slot_end(run_end(well, {}), false) == End::done);
  CHECK(slot_end(run_end(exited_3, {}), false) == End::failed);
  CHECK(slot_end(run_end(killed, {}), false) == End::failed);
}

TEST_CASE("a job that was told to end leaves the slot open, unless it ended well all the same") {
  CHECK(slot_end(run_end(well, {}), true) == End::done);
  CHECK(slot_end(run_end(exited_3, {}), true) == End::open);
  CHECK(slot_end(run_end(killed, {}), true) == End::open);
}

TEST_CASE(
    "a job that we stopped: whoever asked for it, or --max-hold, has ended the slot, a loss has "
    "not") {
  const auto end_for = [](Reason reason, const char* why) {
    return run_end(killed, StoppedFor{reason, why});
  };
  CHECK(end_for(Reason::loss, "gone").outcome.kind == Kind::lost);
  CHECK(slot_end(end_for(Reason::loss, "gone"), false) == End::open);
  CHECK(end_for(Reason::time, "over").outcome.kind == Kind::overran);
  CHECK(slot_end(end_for(Reason::time, "over"), false) == End::done);
  CHECK(end_for(Reason::request, "cancelled by x").outcome.kind == Kind::cancelled);
  CHECK(slot_end(end_for(Reason::request, "cancelled by x"), true) == End::done);
  CHECK(end_for(Reason::request, "superseded by x").outcome.kind == Kind::superseded);
  CHECK(end_for(Reason::request, "cancelled by x").why == "cancelled by x");
}

TEST_CASE("a command that could not be run has done nothing") {
  CHECK(slot_end({{Kind::not_started, 127}}, false) == End::open);
}

}  // namespace unit::hold_run_end
