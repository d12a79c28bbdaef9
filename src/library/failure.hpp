// Why a lock was not acquired, in the words of the library.
#pragma once

#include "hold/acquire.hpp"
#include "rlock/rlock.hpp"

namespace library {

rlock::Failure failure_of(const hold::NotAcquired& reason);

/// A mistake of the caller: a key, an option, the URL.
rlock::Failure mistaken(std::string text);

}  // namespace library
