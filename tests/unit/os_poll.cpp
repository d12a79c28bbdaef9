#include "os/poll.hpp"

#include <doctest/doctest.h>
#include <sys/eventfd.h>

#include <array>
#include <optional>
#include <string>
#include <thread>

#include "os/mailbox.hpp"

namespace unit::os_poll {

using base::Deadline;
using base::Millis;

namespace {

struct Pipe {
  os::Fd reader;
  os::Fd writer;

  Pipe() {
    std::array<int, 2> ends{};
    os::check(::pipe2(ends.data(), O_CLOEXEC | O_NONBLOCK), "making a pipe");
    reader = os::Fd{ends[0]};
    writer = os::Fd{ends[1]};
  }
  void fill() const { CHECK(::write(writer.number(), "x", 1) == 1); }
};

Deadline soon() {
  return Deadline::after(base::now(), Millis{20});
}

}  // namespace

TEST_CASE("a wait ends when there is something to read") {
  const Pipe pipe;
  CHECK(os::wait_for(pipe.reader.number(), os::Want::read, {soon()}) == os::Ready::timed_out);
  CHECK_FALSE(os::is_readable(pipe.reader.number()));
  pipe.fill();
  CHECK(os::is_readable(pipe.reader.number()));
  CHECK(os::wait_for(pipe.reader.number(), os::Want::read, {Deadline::never()}) == os::Ready::yes);
  CHECK(os::wait_for(pipe.writer.number(), os::Want::write, {Deadline::never()}) == os::Ready::yes);
}

TEST_CASE("a hang-up counts as ready") {
  Pipe pipe;
  pipe.writer = os::Fd{};
  CHECK(os::wait_for(pipe.reader.number(), os::Want::read, {Deadline::never()}) == os::Ready::yes);
}

TEST_CASE("an interrupt wins over data") {
  const Pipe data;
  const Pipe interrupt;
  data.fill();
  interrupt.fill();
  CHECK(os::wait_for(data.reader.number(), os::Want::read,
                     {Deadline::never(), interrupt.reader.number()}) == os::Ready::interrupted);
  CHECK(os::is_readable(interrupt.reader.number()));  // it was not consumed
}

TEST_CASE("a deadline that has passed still sees what is ready") {
  const Pipe pipe;
  pipe.fill();
  const auto passed = Deadline::at(base::now());
  CHECK(os::wait_for(pipe.reader.number(), os::Want::read, {passed}) == os::Ready::yes);
}

TEST_CASE("no descriptor is never readable") {
  CHECK_FALSE(os::is_readable(-1));
  CHECK(os::wait_for(-1, os::Want::read, {soon()}) == os::Ready::timed_out);
}

TEST_CASE("a limit is the earlier of two deadlines, and keeps its interrupt") {
  const auto now = base::now();
  const auto early = Deadline::after(now, Millis{1});
  const auto late = Deadline::after(now, Millis{2});
  CHECK(os::CallLimit{late, 7}.at_most(early).until == early);
  CHECK(os::CallLimit{early, 7}.at_most(late).until == early);
  CHECK(os::CallLimit{early, 7}.at_most(late).interrupt == 7);
  os::CallLimit patient{late};
  patient.long_from = early;
  CHECK(patient.at_most(early).long_from == early);
}

TEST_CASE("waiting for any ends with the first") {
  const Pipe one;
  const Pipe two;
  two.fill();
  os::wait_any({one.reader.number(), -1, two.reader.number()}, Deadline::never());
  const auto until = soon();
  os::wait_any({one.reader.number(), -1}, until);
  CHECK(until.passed(base::now()));
}

TEST_CASE("the end of a pipe is told apart from what there is to read in it") {
  const Pipe signals;
  Pipe watched;
  watched.fill();
  const std::vector<int> pipes{watched.reader.number()};
  CHECK_FALSE(os::wait_any({}, pipes, {soon(), signals.reader.number()}));
  signals.fill();
  CHECK_FALSE(os::wait_any({signals.reader.number()}, pipes, {Deadline::never()}));
  CHECK_FALSE(os::wait_any({}, pipes, {Deadline::never(), signals.reader.number()}));
  watched.writer = os::Fd{};
  CHECK(os::wait_any({signals.reader.number()}, pipes, {Deadline::never()}));
}

TEST_CASE("a set of descriptors is readable while one of them is") {
  const Pipe one;
  const Pipe two;
  const os::PollSet set{{one.reader.number(), -1, two.reader.number()}};
  CHECK_FALSE(os::is_readable(set.descriptor()));
  two.fill();
  CHECK(os::is_readable(set.descriptor()));
  char byte = 0;
  CHECK(::read(two.reader.number(), &byte, 1) == 1);
  CHECK_FALSE(os::is_readable(set.descriptor()));
  CHECK_FALSE(os::is_readable(os::PollSet{{}}.descriptor()));
}

TEST_CASE("a set of what is no descriptor cannot be made") {
  CHECK_THROWS_AS(os::PollSet{{99999}}, std::system_error);
}

TEST_CASE("a timer is readable once its deadline passed, until it is set anew") {
  os::Timer timer;
  CHECK_FALSE(os::is_readable(timer.descriptor()));
  timer.set(soon());
  CHECK_FALSE(os::is_readable(timer.descriptor()));
  CHECK(os::wait_for(timer.descriptor(), os::Want::read, {Deadline::never()}) == os::Ready::yes);
  CHECK(os::is_readable(timer.descriptor()));
  timer.set(Deadline::never());
  CHECK_FALSE(os::is_readable(timer.descriptor()));
  timer.set(Deadline::at(base::Moment{}));  // the boot: long ago
  CHECK(os::is_readable(timer.descriptor()));
  timer.set(Deadline::at(base::Moment{}));
  CHECK(os::is_readable(timer.descriptor()));
}

TEST_CASE("a mailbox hands over in the order of posting") {
  os::Mailbox<std::string> mailbox;
  CHECK_FALSE(os::is_readable(mailbox.descriptor()));
  CHECK(mailbox.take() == std::nullopt);
  mailbox.post("one");
  mailbox.post("two");
  CHECK(os::is_readable(mailbox.descriptor()));
  CHECK(mailbox.take() == "one");
  CHECK(os::is_readable(mailbox.descriptor()));
  CHECK(mailbox.take() == "two");
  CHECK_FALSE(os::is_readable(mailbox.descriptor()));
  CHECK(mailbox.take() == std::nullopt);
}

TEST_CASE("a mailbox wakes a reader in another thread") {
  os::Mailbox<int> mailbox;
  int sum = 0;
  std::thread writer{[&] {
    for (int i = 1; i <= 1000; ++i) mailbox.post(i);
  }};
  for (int taken = 0; taken < 1000;) {
    os::wait_any({mailbox.descriptor()}, Deadline::never());
    while (const auto message = mailbox.take()) {
      sum += *message;
      ++taken;
    }
  }
  writer.join();
  CHECK(sum == 500500);
  CHECK_FALSE(os::is_readable(mailbox.descriptor()));
}

TEST_CASE("a descriptor is closed by its owner, once") {
  int number = -1;
  {
    os::Fd fd{::eventfd(0, EFD_CLOEXEC)};
    number = fd.number();
    os::Fd other{std::move(fd)};
    CHECK(other.number() == number);
    CHECK_FALSE(fd);  // NOLINT: what is left of it
    CHECK(::fcntl(number, F_GETFD) >= 0);
  }
  CHECK(::fcntl(number, F_GETFD) < 0);
  os::Fd kept{::eventfd(0, 0)};
  const int released = kept.release();
  CHECK(::fcntl(released, F_GETFD) == 0);
  os::close_on_exec(released);
  CHECK(::fcntl(released, F_GETFD) == FD_CLOEXEC);
  CHECK(::close(released) == 0);
}

}  // namespace unit::os_poll
