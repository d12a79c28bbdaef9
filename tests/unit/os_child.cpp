#include "os/child.hpp"

#include <doctest/doctest.h>
#include <unistd.h>

#include <csignal>

namespace unit::os_child {

namespace {

/// The status that the kernel makes of an end that really happened.
int status_of(void (*end)(int), int number) {
  const pid_t pid = ::fork();
  if (pid == 0) {
    end(number);
    ::_exit(255);
  }
  int status = 0;
  ::waitpid(pid, &status, 0);
  return status;
}

constexpr int first_core_dump = 0x80;  // wait(2): the flag beside the signal's number

}  // namespace

TEST_CASE("every exit code of a job is passed on as it is") {
  for (int code = 0; code < 256; ++code) {
    const os::ExitStatus status{code << 8};
    CHECK_FALSE(status.signalled());
    CHECK(status.code() == code);
  }
}

TEST_CASE("every signal that a job dies of becomes 128 and its number") {
  for (int number = 1; number <= SIGRTMAX; ++number) {
    if (number >= 0x7f) break;
    for (const int core : {0, first_core_dump}) {
      const os::ExitStatus status{number | core};
      CHECK(status.signalled());
      CHECK(status.signal() == number);
      CHECK(status.code() == 128 + number);
    }
  }
}

TEST_CASE("the kernel's own statuses are read as they are meant") {
  const os::ExitStatus left{status_of([](int number) { ::_exit(number); }, 42)};
  CHECK_FALSE(left.signalled());
  CHECK(left.code() == 42);
  const os::ExitStatus killed{status_of([](int number) { ::raise(number); }, SIGKILL)};
  CHECK(killed.signalled());
  CHECK(killed.code() == 137);
}

TEST_CASE("a change of a stopped process knows its signal") {
  const os::Change change{os::Change::Kind::stopped, 1, (SIGTSTP << 8) | 0x7f};
  CHECK(change.stop_signal() == SIGTSTP);
}

TEST_CASE("a program is argv and environment, each with a null at its end") {
  const std::vector<std::string> argv{"true", "two words"};
  const std::vector<std::string> environment{"A=1"};
  const os::Program program{argv, environment};
  CHECK(std::string{program.argv()[0]} == "true");
  CHECK(std::string{program.argv()[1]} == "two words");
  CHECK(program.argv()[2] == nullptr);
  CHECK(std::string{program.environment()[0]} == "A=1");
  CHECK(program.environment()[1] == nullptr);
}

TEST_CASE("variables that name this process name the command's") {
  const std::string us = std::to_string(::getpid());
  const std::vector<std::string> argv{"true"};
  const std::vector<std::string> environment{"LISTEN_PID=" + us, "LISTEN_PIDFDID=17",
                                             "LISTEN_FDS=2", "WATCHDOG_PID=" + us, "PID=" + us};
  const os::Program program{argv, environment};
  program.name_process(1234567890);
  program.name_process(42);
  std::vector<std::string> told;
  for (char* const* each = program.environment(); *each != nullptr; ++each)
    told.emplace_back(*each);
  CHECK(told ==
        std::vector<std::string>{"LISTEN_PID=42", "LISTEN_FDS=2", "WATCHDOG_PID=42", "PID=" + us});
}

TEST_CASE("variables that name another process stay as they are") {
  const std::vector<std::string> argv{"true"};
  const std::vector<std::string> environment{"LISTEN_PID=1" + std::to_string(::getpid()),
                                             "LISTEN_PIDFDID=17", "WATCHDOG_PID="};
  const os::Program program{argv, environment};
  program.name_process(42);
  CHECK(std::string{program.environment()[0]} == environment[0]);
  CHECK(std::string{program.environment()[1]} == environment[1]);
  CHECK(std::string{program.environment()[2]} == environment[2]);
}

}  // namespace unit::os_child
