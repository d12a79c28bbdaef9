// rlock -k KEY COMMAND: the main path.
#pragma once

#include "cmd/command.hpp"

namespace cmd {

extern const Command run_command;

}  // namespace cmd
