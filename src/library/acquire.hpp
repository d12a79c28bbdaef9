// The way from a program's options to a lock.
#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "hold/acquire.hpp"
#include "library/lock.hpp"
#include "rlock/rlock.hpp"

namespace library {

/// `slot`: only with one key.
using Attempted = std::variant<rlock::Lock, rlock::Failure, store::SlotDone>;
Attempted attempt(const rlock::Server& server, const std::vector<std::string>& keys,
                  const rlock::Options& options, rlock::Millis wait,
                  const std::optional<store::Slot>& slot = std::nullopt);

}  // namespace library
