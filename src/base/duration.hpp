// Lengths of time as people write and read them: "1h30m", "2.5", "300ms".
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/clock.hpp"

namespace base {

/// The accepted forms of a duration, for usage errors.
inline constexpr std::string_view accepted_durations =
    "a duration such as 30, 2.5, 300ms, 30s, 10m, 1h30m or 2d";

/// Parses a bare number (seconds), a number with a unit (ms s m h d), a decimal or a compound
/// ("1h30m"). Rounds to the nearest millisecond. Returns nothing if the text is negative, empty or
/// garbled, or means more than 1000 years.
std::optional<Millis> parse_duration(std::string_view text);

/// Formats with at most two units, as people do: "350ms", "12s", "3m12s", "2d4h".
std::string format_duration(Millis length);

}  // namespace base
