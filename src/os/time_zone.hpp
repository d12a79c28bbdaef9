// A check that the host has data for its time zone.
#pragma once

#include <optional>
#include <string>

namespace os {

/// The time zone that TZ names, or else /etc/localtime (`otherwise`), if this host has no data for
/// it: then the C library silently uses UTC.
std::optional<std::string> missing_time_zone(const std::string& otherwise = "/etc/localtime");

}  // namespace os
