// SHA-1 (FIPS 180-4), by which EVALSHA names a script.
#include <array>
#include <bit>
#include <cstdint>

#include <fmt/format.h>

#include "script_engine.hpp"

namespace sim {
namespace {

using State = std::array<std::uint32_t, 5>;

void digest_block(State& state, const unsigned char* block) {
  std::array<std::uint32_t, 80> w{};
  for (std::size_t i = 0; i < 16; ++i) {
    w[i] = std::uint32_t{block[4 * i]} << 24 | std::uint32_t{block[4 * i + 1]} << 16 |
           std::uint32_t{block[4 * i + 2]} << 8 | std::uint32_t{block[4 * i + 3]};
  }
  for (std::size_t i = 16; i < 80; ++i) {
    w[i] = std::rotl(w[i - 3] ^ w[i - 8] ^ w[i - 14] ^ w[i - 16], 1);
  }
  auto [a, b, c, d, e] = state;
  for (std::size_t i = 0; i < 80; ++i) {
    const auto [f, k] = i < 20   ? std::pair{(b & c) | (~b & d), 0x5A827999U}
                        : i < 40 ? std::pair{b ^ c ^ d, 0x6ED9EBA1U}
                        : i < 60 ? std::pair{(b & c) | (b & d) | (c & d), 0x8F1BBCDCU}
                                 : std::pair{b ^ c ^ d, 0xCA62C1D6U};
    const std::uint32_t next = std::rotl(a, 5) + f + e + k + w[i];
    e = d;
    d = c;
    c = std::rotl(b, 30);
    b = a;
    a = next;
  }
  state = {state[0] + a, state[1] + b, state[2] + c, state[3] + d, state[4] + e};
}

}  // namespace

std::string sha1(std::string_view text) {
  std::string padded{text};
  padded += '\x80';
  while (padded.size() % 64 != 56) padded += '\0';
  const std::uint64_t bits = std::uint64_t{text.size()} * 8;
  for (int shift = 56; shift >= 0; shift -= 8) padded += static_cast<char>(bits >> shift & 0xff);
  State state{0x67452301, 0xEFCDAB89, 0x98BADCFE, 0x10325476, 0xC3D2E1F0};
  for (std::size_t at = 0; at < padded.size(); at += 64) {
    std::array<unsigned char, 64> block{};
    for (std::size_t i = 0; i < 64; ++i) block.at(i) = static_cast<unsigned char>(padded[at + i]);
    digest_block(state, block.data());
  }
  std::string hex;
  for (const auto word : state) hex += fmt::format("{:08x}", word);
  return hex;
}

}  // namespace sim
