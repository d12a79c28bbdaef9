// The error of a system call, as a value or as an exception.
#pragma once

#include <cerrno>
#include <string>
#include <system_error>
#include <utility>

#include "base/result.hpp"

namespace os {

/// The text of an errno value, e.g. "Connection refused". Any thread.
inline std::string describe(int error) {
  return std::generic_category().message(error);
}

/// The reason why an operation failed.
struct Error {
  /// The errno value; 0 if no system call failed: then `what` is the whole reason.
  int number = 0;
  /// The operation that failed, or the reason. Empty if the caller knows better.
  std::string what;

  /// "Connection refused", "making a pipe: No space left on device", "others may write to it".
  [[nodiscard]] std::string text() const {
    if (number == 0) return what;
    return what.empty() ? describe(number) : what + ": " + describe(number);
  }
};

template <typename T>
using Result = base::Result<T, Error>;
using Done = base::Done;

/// Captures errno; call directly after the call that set it.
inline Error last_error(std::string doing = {}) {
  const int number = errno;
  return {number, std::move(doing)};
}

/// Throws for what "cannot happen": main() catches it once and exits 71.
[[noreturn]] inline void fail(const std::string& doing, int error = errno) {
  throw std::system_error{error, std::generic_category(), doing};
}

/// Throws if a system call returned -1.
template <class Value>
Value check(Value value, const char* doing) {
  if (value == static_cast<Value>(-1)) fail(doing);
  return value;
}

}  // namespace os
