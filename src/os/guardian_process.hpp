// The guardian of the job, in its own process.
#pragma once

#include <sys/types.h>

#include "base/clock.hpp"
#include "os/child.hpp"
#include "os/guardian_line.hpp"

namespace os {

class Signals;

/// Runs the guardian (see Guardian) to the end of its process, a fresh fork of rlock with one
/// thread. If `has_heir`, this process becomes the heir and the guardian runs below it. `until`: as
/// in Guardian.
[[noreturn]] void run_guardian(GuardianLine line, Signals& signals, pid_t rlock,
                               base::Deadline until, bool has_heir, const Program& program);

}  // namespace os
