#include "os/per_process.hpp"

#include <doctest/doctest.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <memory>

namespace {

/// The exit code of a child that runs `work`.
template <class Work>
int code_of_child(const Work& work) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(work());
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

}  // namespace

TEST_CASE("an object of each process is made once, and again in a child") {
  os::PerProcess<int> number;
  int made = 0;
  const auto make = [&] { return std::make_unique<int>(++made); };
  CHECK(number.get(make) == 1);
  CHECK(number.get(make) == 1);
  CHECK(code_of_child([&] { return number.get(make); }) == 2);
  CHECK(number.get(make) == 1);
  CHECK(number.take_out());  // otherwise it stays
}

TEST_CASE("a child has another number than its parent, also with the same pid") {
  CHECK(os::process_number() == os::process_number());
  const auto ours = os::process_number();
  CHECK(code_of_child([&] { return os::process_number() == ours ? 1 : 0; }) == 0);
  // The first process of each namespace is 1; the first code is of one that may not have any.
  const auto in_two_namespaces = [] {
    if (::unshare(CLONE_NEWUSER | CLONE_NEWPID) != 0 && ::unshare(CLONE_NEWPID) != 0) return 77;
    return code_of_child([] {
      const auto first = os::process_number();
      if (::getpid() != 1) return 3;
      if (::unshare(CLONE_NEWPID) != 0) return 77;
      return code_of_child([&] {
        if (::getpid() != 1) return 3;
        return os::process_number() == first ? 1 : 0;
      });
    });
  };
  const int code = code_of_child(in_two_namespaces);
  if (code == 77) {
    MESSAGE("no namespaces of pids here");
  } else {
    CHECK(code == 0);
  }
}

TEST_CASE("a child takes out its own object only") {
  os::PerProcess<int> number;
  CHECK(number.take_out() == nullptr);
  const auto make = [] { return std::make_unique<int>(7); };
  number.get(make);
  CHECK(code_of_child([&] { return number.take_out() ? 1 : 0; }) == 0);
  CHECK(code_of_child([&] {
          number.get(make) = 8;
          const auto own = number.take_out();
          return own ? *own : 0;
        }) == 8);
  const auto own = number.take_out();
  REQUIRE(own);
  CHECK(*own == 7);
  CHECK(number.take_out() == nullptr);
}
