// Whether a server is fit to hold locks: what an examination finds, and the part of it that every
// kind of store shares.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "store/lock_store.hpp"

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

/// A server that does not answer the first question in a quarter of the time is not asked the
/// others.
CallLimit for_the_first_answer(const CallLimit& limit);

/// The claim of an examination: for a few seconds, and only if the lock is free.
Claim trial_claim(const LockName& name);

/// Takes, refreshes and gives back the lock `name` as a run does. A lock that is held stays
/// undisturbed. `advice` says what to do about a fault.
Finding try_locking(LockStore& store, const LockName& name,
                    const std::function<std::string(const Fault&)>& advice, const CallLimit& limit);

}  // namespace store
