// rlock list [PATTERN]
#pragma once

#include "cmd/command.hpp"

namespace cmd {

extern const Command list_command;

}  // namespace cmd
