// Another name for a process that rlock forked, so that a kill by name or command line misses it.
#pragma once

#include <string_view>

namespace os {

/// Changes the command line that ps(1) shows for this process. Reading one's own takes as long as a
/// short job.
void change_command_line(std::string_view name);

}  // namespace os
