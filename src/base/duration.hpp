// Lengths of time as people write and read them: "1h30m", "2.5", "300ms".
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/clock.hpp"

namespace base {

/// What a duration may look like, for usage errors.
inline constexpr std::string_view accepted_durations =
    "a duration such as 30, 2.5, 300ms, 30s, 10m, 1h30m or 2d";

/// A bare number is seconds; units ms s m h d, decimals and compounds ("1h30m") work. Nothing for a
/// negative, empty or garbled text, or for more than 1000 years. Rounded to the nearest
/// millisecond.
std::optional<Millis> parse_duration(std::string_view text);

/// At most two units, the way a person says it: "350ms", "12s", "3m12s", "2d4h".
std::string format_duration(Millis length);

}  // namespace base
