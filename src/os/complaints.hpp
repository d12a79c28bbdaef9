// stderr, which may lead to somebody who does not read.
#pragma once

#include <string_view>

namespace os {

/// Writes to stderr, and says how much of it was taken at once: never waits for a reader. The
/// descriptor's own mode stays what it is: the job shares it, and not every program can live with
/// O_NONBLOCK. What nobody will ever take counts as taken. Any thread.
std::size_t complain_at_once(std::string_view text);

}  // namespace os
