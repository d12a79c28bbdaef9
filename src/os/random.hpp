// Random bytes from the kernel.
#pragma once

#include <cstdint>
#include <string>

namespace os {

/// `bytes` random bytes of getrandom(2) as lower-case hex digits.
std::string random_hex(std::size_t bytes);

/// Uniform in [low, high]; for jitter.
std::int64_t random_between(std::int64_t low, std::int64_t high);

}  // namespace os
