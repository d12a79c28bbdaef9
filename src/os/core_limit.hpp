// Keeps passwords out of core files.
#pragma once

namespace os {

/// From now on, and in forks, a crash leaves no core file and sends none to a collector of crashes.
/// Once, before other threads.
void forbid_core();
/// What forbid_core() changed, for a program that is executed instead. Only a system call.
void give_core_back();

}  // namespace os
