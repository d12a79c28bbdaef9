// `rlock check`
#pragma once

#include "cmd/command.hpp"

namespace cmd {

extern const Command check_command;

}  // namespace cmd
