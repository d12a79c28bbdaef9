// Turning a system call's -1 into an exception that says what was being done.
#pragma once

#include <cerrno>
#include <string>
#include <system_error>

namespace os {

/// Thrown for what "cannot happen": main() catches it once and exits 71.
[[noreturn]] inline void fail(const std::string& doing, int error = errno) {
  throw std::system_error{error, std::generic_category(), doing};
}

template <class Result>
Result check(Result result, const char* doing) {
  if (result == static_cast<Result>(-1)) fail(doing);
  return result;
}

/// The text of an errno value, e.g. "Connection refused". Any thread.
inline std::string describe(int error) {
  return std::generic_category().message(error);
}

}  // namespace os
