// Another name for a process that rlock forked: a kill by name or by command line must not hit it.
#pragma once

#include <string_view>

namespace os {

/// What ps(1) shows of this process's command line. Reading one's own takes as long as a short job
/// has.
void change_command_line(std::string_view name);

}  // namespace os
