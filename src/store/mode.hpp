// How a lock is wanted.
#pragma once

namespace store {

/// Alone, together with other readers, or as one of at most `permits` holders. All who use a key at
/// the same time must agree: readers and writers (exclusive) go together, permits only with the
/// same number of them.
struct Mode {
  enum class Kind { exclusive, shared, permits };
  static constexpr unsigned most_permits = 1'000'000;

  Kind kind = Kind::exclusive;
  unsigned permits = 1;  // from 2 where kind is permits

  bool operator==(const Mode&) const = default;
};

}  // namespace store
