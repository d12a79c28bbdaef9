// The number of recorded runs, their replacement, and the typical length of a run. The Lua scripts
// for Redis have the same numbers.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <vector>

#include "store/runs.hpp"

namespace store::rules {

/// Per lock.
inline constexpr std::size_t remembered_runs = 50;
/// How many of the newest runs determine the typical length: older ones may have been another job.
inline constexpr std::size_t runs_for_typical_length = 20;

/// The recorded ones of `runs`, which are newest first.
std::vector<Run> newest_of(std::vector<Run> runs);

/// The one of `count` runs, newest first, that the next one replaces: the oldest that has ended.
/// Nothing: there is room, or none has ended.
std::optional<std::size_t> makes_room(std::size_t count,
                                      const std::function<bool(std::size_t)>& goes_on);

/// How long a run under this lock takes: the lower median of those among the newest that ended by
/// themselves (or were released by a step). `runs`: newest first. Nothing if there is none.
std::optional<base::Millis> typical_length(const std::vector<Run>& runs);

}  // namespace store::rules
