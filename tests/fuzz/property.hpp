// Shared by the fuzzers: reporting a broken promise.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include "base/text.hpp"

namespace fuzz {

inline std::string_view text_of(const std::uint8_t* data, std::size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

/// Cuts off what stands before the next `separator`.
inline std::string_view next(std::string_view& text, char separator) {
  const auto part = text.substr(0, text.find(separator));
  text.remove_prefix(part.size() < text.size() ? part.size() + 1 : part.size());
  return part;
}

/// The fuzzer's loop takes an abort for a finding.
inline void promise(bool kept, const char* what) {
  if (kept) return;
  (void)std::fprintf(stderr, "broken promise: %s\n", what);
  std::abort();
}

/// Lines that a terminal may be given as they are.
inline void promise_clean(std::string_view text, const char* what) {
  while (!text.empty()) promise(base::is_printable(next(text, '\n')), what);
}

}  // namespace fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);
