#include "os/core_limit.hpp"

#include <sys/resource.h>

#include <algorithm>

namespace os {
namespace {

// core(5): a limit of 0 applies to files only. One byte is too little for a file, and the kernel
// takes it as the mark of a crashed collector, to which it sends nothing.
constexpr rlim_t nothing = 1;

rlimit inherited{};  // of this process; a fork inherits it
bool is_forbidden = false;

}  // namespace

void forbid_core() {
  is_forbidden = ::getrlimit(RLIMIT_CORE, &inherited) == 0;
  if (!is_forbidden) return;
  const rlimit ours{std::min(nothing, inherited.rlim_max), inherited.rlim_max};
  is_forbidden = ::setrlimit(RLIMIT_CORE, &ours) == 0;
}

void give_core_back() {
  if (is_forbidden) (void)::setrlimit(RLIMIT_CORE, &inherited);
}

}  // namespace os
