// The memory of this process: its limits, and what it gives back.
#pragma once

#include <optional>
#include <string>

namespace os {

/// Gives back pages that the kernel can restore: those of the program and its libraries, which stay
/// in the page cache for all runs. Touching them again costs one fault for each 64 KB: a tenth of a
/// millisecond for the next request to a server. Any thread.
void shed_memory();

/// Why the main thread's stack (ulimit -s) is too small, if it is. Main thread, first of all.
std::optional<std::string> missing_stack();

}  // namespace os
