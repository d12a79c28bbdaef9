// A short number for a text. Two texts may share one.
#pragma once

#include <cstdint>
#include <string_view>

namespace base {

/// FNV-1a, https://datatracker.ietf.org/doc/html/draft-eastlake-fnv
constexpr std::uint64_t digest(std::string_view text) {
  std::uint64_t value = 0xcbf29ce484222325;
  for (const char c : text) value = (value ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return value;
}

}  // namespace base
