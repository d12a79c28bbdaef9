// The guardian of the job, in its own process.
#pragma once

#include <sys/types.h>

#include "base/clock.hpp"
#include "os/child.hpp"
#include "os/guardian_line.hpp"

namespace os {

class Signals;

/// What the guardian does (see Guardian), to the end of its process, which is a fresh fork of
/// rlock's with one thread. With `has_heir` this process becomes the heir, and the guardian one
/// below it. `until`: as Guardian's.
[[noreturn]] void run_guardian(GuardianLine line, Signals& signals, pid_t rlock,
                               base::Deadline until, bool has_heir, const Program& program);

}  // namespace os
