#include "os/per_process.hpp"

#include <doctest/doctest.h>
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
