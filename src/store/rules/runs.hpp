// How many runs a lock remembers, which of them goes when one more begins, and how long a run
// usually takes. The scripts of Redis have the same numbers.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <vector>

#include "store/runs.hpp"

namespace store::rules {

/// Of each lock.
inline constexpr std::size_t remembered_runs = 50;
/// Of so many runs, the newest ones, a typical length is made: what ran long ago may have been
/// another job.
inline constexpr std::size_t runs_for_typical_length = 20;

/// What is remembered of these, which are the newest first.
std::vector<Run> newest_of(std::vector<Run> runs);

/// Which of `count` runs, the newest first, makes room for the next one: the oldest that does not
/// go on. Nothing: there is room, or all go on.
std::optional<std::size_t> makes_room(std::size_t count,
                                      const std::function<bool(std::size_t)>& goes_on);

/// How long a run under this lock takes: the median of the lengths of those among the newest that
/// ended by themselves (or were released by a step), the lower one of two. `runs`: the newest
/// first. Nothing if there is none.
std::optional<base::Millis> typical_length(const std::vector<Run>& runs);

}  // namespace store::rules
