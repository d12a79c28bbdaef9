// `rlock refresh`
#pragma once

#include "cmd/command.hpp"

namespace cmd {

extern const Command refresh_command;

}  // namespace cmd
