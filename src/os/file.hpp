// Small files read whole.
#pragma once

#include <optional>
#include <string>

namespace os {

/// Nothing, with errno set, if the file cannot be opened or read.
std::optional<std::string> contents_of(const std::string& path);

}  // namespace os
