// What an examination of a server came to.
#pragma once

#include <string>
#include <vector>

namespace store {

/// One question and its answer, for people.
struct Finding {
  enum class Verdict {
    ok,
    warn,     // works, and may bite
    fail,     // not fit to hold locks
    unknown,  // not allowed to ask
  } verdict;
  std::string subject;  // "eviction"
  std::string seen;     // "maxmemory-policy is allkeys-lru"
  std::string advice;   // what to do; empty if nothing
};

using Findings = std::vector<Finding>;

}  // namespace store
