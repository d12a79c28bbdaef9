// rlock doctor [KEY]
#pragma once

#include "cmd/command.hpp"

namespace cmd {

extern const Command doctor_command;

}  // namespace cmd
