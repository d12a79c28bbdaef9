// rlock inspect KEY
#pragma once

#include "cmd/command.hpp"

namespace cmd {

extern const Command inspect_command;

}  // namespace cmd
