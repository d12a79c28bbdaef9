// Chance by seed: the same on every machine and with every library.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

namespace sim {

/// SplitMix64 (Steele, Lea, Flood 2014): one word of state, and no seed is a bad one.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_{seed} {}

  std::uint64_t bits() {
    std::uint64_t z = state_ += 0x9E3779B97F4A7C15U;
    z = (z ^ (z >> 30U)) * 0xBF58476D1CE4E5B9U;
    z = (z ^ (z >> 27U)) * 0x94D049BB133111EBU;
    return z ^ (z >> 31U);
  }
  /// From 0 to `below` - 1. That some are a little likelier than others does not matter here.
  std::uint64_t number(std::uint64_t below) { return bits() % below; }
  std::int64_t between(std::int64_t least, std::int64_t most) {
    return least + static_cast<std::int64_t>(number(static_cast<std::uint64_t>(most - least + 1)));
  }
  bool chance(unsigned percent) { return number(100) < percent; }

  std::string pick(std::initializer_list<const char*> choices) {
    return *(choices.begin() + number(choices.size()));
  }
  template <typename T>
  const T& pick(const std::vector<T>& choices) {
    return choices[number(choices.size())];
  }

 private:
  std::uint64_t state_;
};

}  // namespace sim
