// An examination whether a server is fit to hold locks: its findings, and the part that every kind
// of store shares.
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
    warn,     // works, but may cause trouble
    fail,     // not fit to hold locks
    unknown,  // not permitted to ask
  } verdict;
  std::string subject;  // "eviction"
  std::string seen;     // "maxmemory-policy is allkeys-lru"
  std::string advice;   // what to do; empty if nothing
};

using Findings = std::vector<Finding>;

/// Gives the first request a quarter of the time; a server that does not answer it is not asked
/// more.
CallLimit for_the_first_answer(const CallLimit& limit);

/// The claim of an examination: for a few seconds, and only if the lock is free.
Claim trial_claim(const LockName& name);

/// Acquires, refreshes and releases the lock `name` as a run does. Leaves a held lock alone.
/// `advice` says what to do about a fault.
Finding try_locking(LockStore& store, const LockName& name,
                    const std::function<std::string(const Fault&)>& advice, const CallLimit& limit);

}  // namespace store
