#include "os/process_name.hpp"

#include <cerrno>
#include <cstring>

#include "os/file.hpp"

namespace os {

void change_command_line(std::string_view name) {
  const std::size_t room = contents_of("/proc/self/cmdline").value_or("").size();
  if (room <= name.size()) return;
  std::memset(::program_invocation_name, 0, room);  // the kernel reads the command line from here
  name.copy(::program_invocation_name, name.size());
}

}  // namespace os
