// How much one answer may cost us: a server that is broken, or no friend, must not take our memory.
#pragma once

#include <hiredis/hiredis.h>

#include <cstddef>

namespace store::redis {

/// What is left of it for the answer that is being read. hiredis alone takes arrays of 2^32
/// elements and any depth, which it then frees by recursion, until the stack is used up.
class Allowance {
 public:
  /// Bytes on the wire. An inspection of 100,000 waiters is 11 MB.
  static constexpr std::size_t most_bytes = std::size_t{16} << 20;
  /// In all arrays of the answer together: 130,000 waiters.
  static constexpr std::size_t most_elements = std::size_t{1} << 18;
  /// Arrays in arrays. Ours are 2 deep, CLUSTER SLOTS is 4.
  static constexpr int deepest = 8;

  /// Of a line: all but texts, which say how long they are. For its end hiredis looks from its
  /// beginning with all that comes in, which for 16 MB would be seconds of a processor.
  static constexpr std::size_t longest_line = std::size_t{64} << 10;

  /// So many bytes came in; false if they are too many, or a line of them too long.
  bool take(const redisReader& reader, std::size_t bytes);
  /// The next answer begins.
  void renew() { *this = Allowance{}; }
  /// From now `reader` says "out of memory" where an answer goes beyond it. Has to stay where it
  /// is.
  void rule(redisReader& reader);

 private:
  template <class Size>
  static void* create_array(const redisReadTask* task, Size size);

  std::size_t bytes_ = most_bytes;
  std::size_t elements_ = most_elements;
};

}  // namespace store::redis
