// The policy for the job: events in, actions out, the time given.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <csignal>
#include <string>

#include "base/result.hpp"
#include "hold/job_policy.hpp"

namespace unit::hold_job_policy {

namespace {

using base::Deadline;
using base::Millis;
using base::Moment;
using hold::JobPolicy;
using Heard = JobPolicy::JobHeard;

const Moment start{std::chrono::hours{1}};
Moment at(int millis) {
  return start + Millis{millis};
}

/// "tree 15, say: lost the lock 'a': why".
std::string told(const hold::Actions& actions) {
  std::string text;
  for (const auto& action : actions) {
    if (!text.empty()) text += ", ";
    text += base::match(
        action, [](const hold::ToJob& to) { return fmt::format("job {}", to.signal); },
        [](const hold::ToTree& to) { return fmt::format("tree {}", to.signal); },
        [](const hold::ToOthers& to) { return fmt::format("others {}", to.signal); },
        [](const hold::ResumeTree&) { return std::string{"resume"}; },
        [](const hold::Follow& follow) { return fmt::format("follow {}", follow.signal); },
        [](const hold::Say& say) { return "say: " + say.text; });
  }
  return text;
}

/// A lease of 10 s from `start`, a grace of 2 s.
JobPolicy policy(hold::OnLost on_lost = hold::OnLost::stop, bool wait_all = false) {
  return JobPolicy{{"'a'", Deadline::at(at(10'000)), Millis{2'000}, on_lost, wait_all}};
}
store::LockName name() {
  return *store::LockName::from("a");
}
os::Signal by_process(int number) {
  return {number, os::Sender::process};
}
os::Signal by_terminal(int number) {
  return {number, os::Sender::terminal};
}
os::ExitStatus exited(int code) {
  return os::ExitStatus{code << 8};
}
os::ExitStatus died_of(int signal) {
  return os::ExitStatus{signal};
}
hold::Lost lost() {
  return {name(), "gone"};
}
hold::AskedToStop asked() {
  return {name(), "cancelled by ann"};
}

const std::string lost_line = "say: lost the lock 'a': gone; stopping the job";

}  // namespace

TEST_CASE("a process's signal is passed on: a stop to the tree, all others to the job") {
  struct Row {
    int signal;
    const char* actions;
  };
  for (const auto& [signal, actions] :
       {Row{SIGTERM, "tree 15"}, Row{SIGINT, "tree 2"}, Row{SIGHUP, "job 1"}, Row{SIGQUIT, "job 3"},
        Row{SIGUSR1, "job 10"}, Row{SIGUSR2, "job 12"}, Row{SIGTSTP, "job 20"},
        Row{SIGWINCH, "job 28"}, Row{SIGCONT, "job 18, resume"}}) {
    CAPTURE(signal);
    auto running = policy();
    CHECK(told(running.on_signal(by_process(signal), Heard::no, start)) == actions);
  }
}

TEST_CASE("a signal that the job got from its sender is not passed on; a stop completes its tree") {
  for (const int signal : {SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGTSTP, SIGWINCH, SIGCONT}) {
    CAPTURE(signal);
    auto running = policy();
    CHECK(told(running.on_signal(by_process(signal), Heard::yes, start)).empty());
  }
  for (const int signal : {SIGTERM, SIGINT}) {
    CAPTURE(signal);
    auto running = policy();
    const auto others = fmt::format("others {}", signal);
    CHECK(told(running.on_signal(by_process(signal), Heard::yes, start)) == others);
    // Each one reaches the job by itself, which may have its own idea of impatience.
    CHECK(told(running.on_signal(by_process(signal), Heard::yes, at(5'000))).empty());
    CHECK(told(running.on_time(at(5'000))).empty());
    CHECK(running.was_told_to_end());
    CHECK(told(running.on_signal(by_process(signal), Heard::no, at(5'001))).empty());
    CHECK(told(running.on_time(at(5'001))) == "tree 9");
  }
}

TEST_CASE("the rest of a tree whose group got TERM does not get it again when the job ends") {
  auto running = policy();
  (void)running.on_signal(by_process(SIGTERM), Heard::yes, start);
  CHECK(told(running.on_job_ended(died_of(SIGTERM), start)).empty());
  CHECK(running.awaits_tree());
}

TEST_CASE(
    "a signal of the job itself is not an order: not passed on, not counted, never a second one") {
  const auto by_job = [](int number) { return os::Signal{number, os::Sender::job, 4711}; };
  for (const auto heard : {Heard::yes, Heard::no}) {
    auto running = policy();
    for (const int signal :
         {SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGUSR1, SIGALRM, SIGTERM, SIGTSTP, SIGCONT}) {
      CAPTURE(signal);
      running.on_arrival(by_job(signal));
      CHECK(told(running.on_signal(by_job(signal), heard, at(signal * 1'000))).empty());
    }
    CHECK_FALSE(running.was_told_to_end());
    CHECK(told(running.on_time(at(7'000))).empty());
    CHECK(told(running.on_signal(by_process(SIGTERM), Heard::no, at(7'000))) == "tree 15");
  }
  auto running = policy();
  (void)running.on_signal(by_job(SIGTERM), Heard::yes, start);
  CHECK(told(running.on_job_ended(died_of(SIGTERM), start)).empty());
  CHECK(running.is_done());
}

TEST_CASE("a job that ends before the address of a signal is known was told to end all the same") {
  auto running = policy();
  running.on_arrival(by_process(SIGTERM));
  (void)running.on_job_ended(exited(3), start);
  CHECK(running.was_told_to_end());
}

TEST_CASE("a signal goes on with its value") {
  auto running = policy();
  const auto actions =
      running.on_signal({SIGUSR1, os::Sender::process, 4711, 42}, Heard::no, start);
  REQUIRE(actions.size() == 1);
  CHECK(std::get<hold::ToJob>(actions[0]).value == 42);
}

TEST_CASE("a signal of the kernel to rlock alone is passed on") {
  auto running = policy();
  CHECK(told(running.on_signal({SIGALRM, os::Sender::kernel}, Heard::no, start)) == "job 14");
}

TEST_CASE("a signal of the terminal is passed on to a job that did not get it") {
  struct Row {
    int signal;
    const char* actions;
  };
  for (const auto& [signal, actions] :
       {Row{SIGINT, "tree 2"}, Row{SIGQUIT, "job 3"}, Row{SIGHUP, "job 1"},
        Row{SIGTSTP, "tree 19, follow 20, resume"}, Row{SIGTTIN, "tree 19, follow 21, resume"},
        Row{SIGTTOU, "tree 19, follow 22, resume"}}) {
    CAPTURE(signal);
    auto running = policy();
    CHECK(told(running.on_signal(by_terminal(signal), Heard::yes, start)).empty());
    CHECK(told(running.on_signal(by_terminal(signal), Heard::no, start)) == actions);
  }
}

TEST_CASE("a job with a time of its own is stopped for that, whatever becomes of the lease") {
  for (const auto on_lost : {hold::OnLost::stop, hold::OnLost::warn}) {
    JobPolicy running{{"'a'", Deadline::at(at(10'000)), Millis{2'000}, on_lost, false,
                       Deadline::at(at(8'000)), "it was time"}};
    CHECK(running.due() == Deadline::at(at(6'000)));
    CHECK(running.last_moment() < Deadline::at(at(8'000)));
    (void)running.on_news(hold::Extended{Deadline::at(at(90'000))}, at(1'000));
    CHECK(running.due() == Deadline::at(at(6'000)));
    CHECK(told(running.on_time(at(5'999))).empty());
    CHECK(told(running.on_time(at(6'000))) == "tree 15, say: it was time; stopping the job");
    CHECK(running.stopped_for()->reason == hold::StoppedFor::Reason::time);
    CHECK(running.due() < Deadline::at(at(8'000)));
    CHECK(told(running.on_time(at(7'990))) == "");
    CHECK(told(running.on_time(at(7'990))) == "tree 9");
  }
}

TEST_CASE("of a lease and a time that are both over, what ended first is the reason") {
  JobPolicy running{{"'a'", Deadline::at(at(10'000)), Millis{2'000}, hold::OnLost::stop, false,
                     Deadline::at(at(20'000)), "it was time"}};
  (void)running.on_time(at(30'000));
  CHECK(running.stopped_for()->reason == hold::StoppedFor::Reason::loss);
}

TEST_CASE("a lock that is lost before the job's time is over is lost, and that time stays") {
  JobPolicy running{{"'a'", Deadline::at(at(10'000)), Millis{2'000}, hold::OnLost::warn, false,
                     Deadline::at(at(20'000)), "it was time"}};
  CHECK(told(running.on_time(at(8'000))).ends_with("the job runs on"));
  CHECK(running.due() == Deadline::at(at(18'000)));
  CHECK(told(running.on_time(at(18'000))) == "tree 15, say: it was time; stopping the job");
}

TEST_CASE("a signal of an outer run to its whole tree is not passed on") {
  auto running = policy();
  CHECK(told(running.on_signal({SIGTERM, os::Sender::outer_run}, Heard::yes, start)).empty());
  CHECK(told(running.on_job_ended(died_of(SIGTERM), start)) == "tree 15");
}

TEST_CASE("a signal of an outer run before the job began is passed on to the job") {
  auto running = policy();
  CHECK(told(running.on_signal({SIGTERM, os::Sender::outer_run}, Heard::no, start)) == "tree 15");
}

TEST_CASE("a second stop kills, unless it is the first one doubled") {
  struct Row {
    int second;
    int after;
    bool kills;
  };
  for (const auto& [second, after, kills] :
       {Row{SIGTERM, 0, false}, Row{SIGTERM, 999, false}, Row{SIGTERM, 1'000, true},
        Row{SIGINT, 0, true}, Row{SIGINT, 1'500, true}}) {
    CAPTURE(second);
    CAPTURE(after);
    auto running = policy();
    CHECK(told(running.on_signal(by_process(SIGTERM), Heard::no, start)) == "tree 15");
    CHECK(told(running.on_signal(by_process(second), Heard::no, at(after))).empty());
    CHECK(told(running.on_time(at(after))) == (kills ? "tree 9" : ""));
    CHECK(running.due() == Deadline::at(kills ? at(after + 10) : at(8'000)));
  }
}

TEST_CASE("a killed tree is killed again every 10 ms, for what forked meanwhile") {
  auto running = policy();
  (void)running.on_signal(by_process(SIGTERM), Heard::no, start);
  (void)running.on_signal(by_process(SIGINT), Heard::no, start);
  CHECK(told(running.on_time(start)) == "tree 9");
  CHECK(told(running.on_time(at(9))).empty());
  CHECK(told(running.on_time(at(10))) == "tree 9");
}

TEST_CASE("a job that the terminal stopped is followed, and continued with us") {
  auto running = policy();
  CHECK(told(running.on_job_stopped(SIGSTOP, false)).empty());
  CHECK_FALSE(running.follows());
  CHECK(told(running.on_job_stopped(SIGTSTP, false)) == "follow 20");
  CHECK(running.follows());
  CHECK(told(running.on_signal(by_process(SIGCONT), Heard::no, start)) == "resume");
  CHECK(told(running.on_signal(by_process(SIGCONT), Heard::no, start)) == "job 18, resume");
}

TEST_CASE("a job that stops itself at its terminal is followed by a stop that a shell undoes") {
  auto running = policy();
  CHECK(told(running.on_job_stopped(SIGSTOP, true)) == "follow 20");
  CHECK(told(running.on_signal(by_process(SIGCONT), Heard::no, start)) == "resume");
}

TEST_CASE("a job that continues its group itself after a stop is not taken for stopped") {
  auto running = policy();
  (void)running.on_job_stopped(SIGTSTP, false);
  (void)running.on_signal({SIGCONT, os::Sender::job, 4711}, Heard::yes, start);
  CHECK(told(running.on_signal(by_process(SIGCONT), Heard::no, start)) == "job 18, resume");
}

TEST_CASE("a lease that is not refreshed ends the job a grace before its end") {
  auto running = policy();
  CHECK(running.due() == Deadline::at(at(8'000)));
  CHECK(running.last_moment() == Deadline::at(at(9'990)));
  CHECK(told(running.on_time(at(7'999))).empty());
  CHECK(told(running.on_time(at(8'000))) ==
        "tree 15, say: lost the lock 'a': the lease could not be refreshed in time; stopping the "
        "job");
  CHECK(running.stopped_for()->reason == hold::StoppedFor::Reason::loss);
  CHECK(running.due() == Deadline::at(at(9'980)));
  CHECK(told(running.on_time(at(9'979))).empty());
  CHECK(told(running.on_time(at(9'980))).empty());
  CHECK(told(running.on_time(at(9'980))) == "tree 9");
}

TEST_CASE("a refresh moves the end, and a failed one is named as its reason") {
  auto running = policy();
  CHECK(told(running.on_news(hold::Trouble{"refused"}, start)).empty());
  CHECK(told(running.on_news(hold::Extended{Deadline::at(at(20'000))}, start)).empty());
  CHECK(running.due() == Deadline::at(at(18'000)));
  (void)running.on_news(hold::Trouble{"timed out"}, start);
  CHECK(told(running.on_time(at(18'000))) ==
        "tree 15, say: lost the lock 'a': the lease could not be refreshed in time (timed out); "
        "stopping the job");
}

TEST_CASE("a lost lock and a request stop the job once") {
  auto running = policy();
  CHECK(told(running.on_news(lost(), start)) == "tree 15, " + lost_line);
  CHECK(running.stopped_for()->why == "gone");
  CHECK(running.due() == Deadline::at(at(2'000)));
  CHECK(told(running.on_news(asked(), start)).empty());

  auto other = policy();
  CHECK(told(other.on_news(asked(), start)) ==
        "tree 15, say: the run under 'a' was cancelled by ann; stopping the job");
  CHECK(other.stopped_for()->reason == hold::StoppedFor::Reason::request);
  CHECK(told(other.on_news(lost(), start)).empty());
}

TEST_CASE("a loss while the job is stopped for a signal is said, and starts no second stop") {
  auto running = policy();
  (void)running.on_signal(by_process(SIGTERM), Heard::no, start);
  (void)running.on_job_ended(exited(0), start);
  CHECK(running.awaits_tree());
  CHECK(told(running.on_news(lost(), start)).empty());

  auto killing = policy();
  (void)killing.on_guardian_killed();
  CHECK(told(killing.on_news(lost(), start)).empty());
  CHECK(told(killing.last_words()).ends_with(lost_line));
}

TEST_CASE("a tree that is waited for and stops already is not stopped again for a loss") {
  auto running = policy(hold::OnLost::stop, true);
  CHECK_FALSE(running.awaits_tree());
  (void)running.on_job_ended(exited(0), start);
  CHECK(running.awaits_tree());
  CHECK(told(running.on_signal(by_process(SIGTERM), Heard::no, start)) == "tree 15");
  const auto due = running.due();
  CHECK(told(running.on_news(lost(), at(10))).empty());
  CHECK_FALSE(running.stopped_for());
  CHECK(running.due() == due);
}

TEST_CASE("a lease that is over already is no time for a grace") {
  auto running = policy();
  CHECK(told(running.on_news(lost(), at(10'000))).empty());
  CHECK(told(running.on_time(at(10'000))) == "tree 9");
  CHECK(told(running.last_words()) == lost_line);
}

TEST_CASE("--on-lost warn lets the job run on, and says so once") {
  auto running = policy(hold::OnLost::warn);
  CHECK(running.last_moment().is_never());
  CHECK_FALSE(running.warned_of());
  CHECK(told(running.on_news(lost(), start)) == "say: lost the lock 'a': gone; the job runs on");
  CHECK(running.warned_of() == "gone");
  CHECK(told(running.on_news(lost(), start)).empty());
  CHECK(running.due().is_never());
  CHECK(told(running.on_time(at(60'000))).empty());
  CHECK_FALSE(running.stopped_for());
  CHECK(told(running.on_news(asked(), start)) ==
        "tree 15, say: the run under 'a' was cancelled by ann; stopping the job");
}

TEST_CASE(
    "processes that a job leaves behind are left alone, unless the job was stopped or killed") {
  struct Row {
    int heard;  // 0: no signal came
    os::ExitStatus status;
    bool stops;
    const char* rest;  // what it is sent
  };
  for (const auto& [heard, status, stops, rest] :
       {Row{0, exited(0), false, ""}, Row{0, exited(3), false, ""},
        Row{0, died_of(SIGTERM), false, ""}, Row{0, died_of(SIGKILL), true, "tree 15"},
        Row{SIGTERM, exited(0), true, ""},  // it had that with the job
        Row{SIGINT, exited(0), true, "tree 15"}, Row{SIGHUP, died_of(SIGHUP), true, "tree 15"},
        Row{SIGHUP, exited(0), false, ""}, Row{SIGHUP, died_of(SIGINT), false, ""}}) {
    CAPTURE(heard);
    CAPTURE(status.code());
    auto running = policy();
    if (heard != 0) (void)running.on_signal(by_process(heard), Heard::no, start);
    CHECK_FALSE(running.is_done());
    CHECK(told(running.on_job_ended(status, start)) == rest);
    CHECK(running.is_done() == !stops);
    CHECK(running.awaits_tree() == stops);
    CHECK(running.ended()->code() == status.code());
  }
}

TEST_CASE("a job that died of the terminal's ^C takes its tree with it") {
  auto running = policy();
  (void)running.on_signal(by_terminal(SIGINT), Heard::yes, start);
  CHECK(told(running.on_job_ended(died_of(SIGINT), start)) == "tree 15");
}

TEST_CASE(
    "after the command has ended, --wait-all waits for its tree, and any deadly signal stops it") {
  for (const int signal : {SIGINT, SIGQUIT, SIGHUP, SIGTERM}) {
    CAPTURE(signal);
    auto running = policy(hold::OnLost::stop, true);
    CHECK(told(running.on_job_ended(exited(0), start)).empty());
    CHECK(running.awaits_tree());
    CHECK_FALSE(running.is_done());
    CHECK(told(running.on_signal(by_terminal(signal), Heard::no, start)) == "tree 15");
    CHECK(running.due() == Deadline::at(at(2'000)));
    CHECK(told(running.on_signal(by_process(SIGUSR1), Heard::no, start)) == "job 10");
  }
  auto running = policy(hold::OnLost::stop, true);
  (void)running.on_job_ended(exited(0), start);
  CHECK(told(running.on_news(lost(), start)) == "tree 15, " + lost_line);
}

TEST_CASE(
    "a stopping tree whose job has ended still hears a signal of another kind as impatience") {
  auto running = policy();
  (void)running.on_news(asked(), start);
  (void)running.on_job_ended(exited(0), start);
  CHECK(told(running.on_signal(by_process(SIGINT), Heard::no, start)) == "tree 2");
  CHECK(told(running.on_signal(by_process(SIGTERM), Heard::no, start)).empty());
  CHECK(told(running.on_time(start)) == "tree 9");
}

TEST_CASE("a killed guardian takes the job with it, once") {
  auto running = policy();
  CHECK(told(running.on_guardian_killed()).empty());
  CHECK(told(running.on_guardian_killed()).empty());
  CHECK(told(running.on_time(start)) == "tree 9");
  CHECK(told(running.on_job_ended(died_of(SIGKILL), start)).empty());
  CHECK(running.awaits_tree());
}

TEST_CASE("while it kills, nothing is said before the tree is gone or a second is over, and once") {
  const std::string line = "say: the guardian of the job was killed; killing the job";
  auto fast = policy();
  (void)fast.on_guardian_killed();
  CHECK(told(fast.on_time(start)) == "tree 9");
  CHECK(told(fast.last_words()) == line);

  auto slow = policy();
  (void)slow.on_guardian_killed();
  CHECK(told(slow.on_time(start)) == "tree 9");
  CHECK(told(slow.on_time(at(999))) == "tree 9");
  CHECK(told(slow.on_time(at(1'999))) == "tree 9, " + line);
  CHECK(told(slow.on_time(at(3'999))) == "tree 9");
  CHECK(told(slow.last_words()).empty());
}

}  // namespace unit::hold_job_policy
