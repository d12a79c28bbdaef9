// --slot: the work that a run is for, which is to be done once.
#pragma once

#include <ctime>
#include <optional>
#include <string>
#include <string_view>

#include "cmd/claim_options.hpp"

namespace cmd {

/// Which slot the moment `now` is in, by the local clock: "2026-11-24" for @day,
/// "2026-11-24T03+0100" for @hour (the hour that a change of the clocks repeats is two slots),
/// "2026-W48" for @week, "2026-11" for @month, "2026-11-24T03:15+0100" for @15m. crontab's @daily
/// and the like are those. Text behind @= and any text without an @ is a slot of that name; nothing
/// for an unknown word after the @.
std::optional<std::string> slot_named(std::string_view text, std::time_t now);

/// The slot of a run, if it has one. Throws UsageError, also for what cannot go together with it.
std::optional<store::Slot> slot_in(const Settings& settings, const ClaimPlan& plan);

}  // namespace cmd
