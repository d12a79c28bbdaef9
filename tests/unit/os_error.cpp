#include "os/error.hpp"

#include <doctest/doctest.h>

#include <system_error>

namespace unit::os_error {

TEST_CASE("an error says what was being done, and what the system said") {
  CHECK(os::Error{ENOENT, {}}.text() == "No such file or directory");
  CHECK(os::Error{ENOSPC, "making a pipe"}.text() == "making a pipe: No space left on device");
  CHECK(os::Error{0, "others may write to it"}.text() == "others may write to it");
}

TEST_CASE("the last error is that of errno") {
  errno = EACCES;
  const auto error = os::last_error("opening it");
  CHECK(error.number == EACCES);
  CHECK(error.text() == "opening it: Permission denied");
}

TEST_CASE("a call that cannot fail throws if it does") {
  CHECK(os::check(7, "counting") == 7);
  errno = EBADF;
  try {
    os::check(-1, "counting");
    FAIL("it did not throw");
  } catch (const std::system_error& error) {
    CHECK(error.code().value() == EBADF);
    CHECK(std::string{error.what()} == "counting: Bad file descriptor");
  }
}

TEST_CASE("a result has a value to fall back to") {
  os::Result<std::string> none = os::Error{ENOENT, {}};
  CHECK(std::move(none).value_or("instead") == "instead");
  os::Result<std::string> text = std::string{"text"};
  CHECK(std::move(text).value_or("instead") == "text");
}

}  // namespace unit::os_error
