// Why a lock was not acquired, in the words of the library.
#pragma once

#include <string>

#include "hold/acquire.hpp"
#include "rlock/rlock.hpp"

namespace library {

/// `server`: as it is shown.
rlock::Failure failure_of(const hold::NotAcquired& reason, const std::string& server);

/// A mistake of the caller: a key, an option, the URL.
rlock::Failure mistaken(std::string text);

}  // namespace library
