// What this process may have of memory, and what it gives back.
#pragma once

#include <optional>
#include <string>

namespace os {

/// Gives back what the kernel brings again when it is touched: the pages of the program and its
/// libraries, which stay in the page cache for all who run it. What is touched again costs a fault
/// for each 64 KB: a tenth of a millisecond for the next question to a server. Any thread.
void shed_memory();

/// Why the main thread's stack is too small, if it is (ulimit -s). Main thread, first of all.
std::optional<std::string> missing_stack();

}  // namespace os
