// Keeps passwords out of core files.
#pragma once

namespace os {

/// From now on a crash of this process or of a fork leaves no core file and sends none to a crash
/// collector. Call once, before other threads exist.
void forbid_core();
/// Undoes forbid_core() for a program about to be executed. Only a system call.
void give_core_back();

}  // namespace os
