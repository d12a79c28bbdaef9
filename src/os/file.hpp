// Small files read whole.
#pragma once

#include <optional>
#include <string>

namespace os {

bool is_readable_file(const std::string& path);

/// The first line without its end; nothing, with errno set, if the file cannot be read.
std::optional<std::string> first_line_of(const std::string& path);

}  // namespace os
