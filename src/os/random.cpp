#include "os/random.hpp"

#include <sys/random.h>

#include <vector>

#include "os/check.hpp"

namespace os {
namespace {

void fill(void* buffer, std::size_t size) {
  // Up to 256 bytes come whole or not at all (getrandom(2)); nobody here asks for more.
  if (::getrandom(buffer, size, 0) != static_cast<ssize_t>(size)) fail("asking for random bytes");
}

}  // namespace

std::string random_hex(std::size_t bytes) {
  std::vector<unsigned char> raw(bytes);
  fill(raw.data(), raw.size());
  constexpr const char* digits = "0123456789abcdef";
  std::string text;
  for (const unsigned char byte : raw) {
    text += digits[byte >> 4];
    text += digits[byte & 15];
  }
  return text;
}

std::int64_t random_between(std::int64_t low, std::int64_t high) {
  std::uint64_t raw = 0;
  fill(&raw, sizeof raw);
  return low + static_cast<std::int64_t>(raw % static_cast<std::uint64_t>(high - low + 1));
}

}  // namespace os
