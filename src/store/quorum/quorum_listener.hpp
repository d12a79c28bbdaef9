// What the holder of a quorum hears.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "store/lock_store.hpp"

namespace store::quorum {

/// `stop` counts from any node, `lost` from a majority.
std::unique_ptr<Listener> open_listener(std::vector<std::unique_ptr<Listener>> nodes);

/// A notice of that listener: the node it came from, and what it was there.
std::pair<std::size_t, Notice> unwrapped(const Notice& notice);

}  // namespace store::quorum
