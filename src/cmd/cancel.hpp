// `rlock cancel`
#pragma once

#include "cmd/command.hpp"

namespace cmd {

extern const Command cancel_command;

}  // namespace cmd
