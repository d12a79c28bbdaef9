// rlock force-release KEY
#pragma once

#include "cmd/command.hpp"

namespace cmd {

extern const Command force_release_command;

}  // namespace cmd
