// `rlock acquire`
#pragma once

#include "cmd/command.hpp"

namespace cmd {

extern const Command acquire_command;

}  // namespace cmd
