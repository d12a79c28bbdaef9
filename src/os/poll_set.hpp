// Several descriptors behind one.
#pragma once

#include <vector>

#include "os/fd.hpp"

namespace os {

/// epoll(7). descriptor() is readable while one of them is; it does not own them. Those that are -1
/// are skipped.
class PollSet {
 public:
  explicit PollSet(const std::vector<int>& fds);
  [[nodiscard]] int descriptor() const { return fd_.number(); }

 private:
  Fd fd_;
};

}  // namespace os
