// `rlock release`
#pragma once

#include "cmd/command.hpp"

namespace cmd {

extern const Command release_command;

}  // namespace cmd
