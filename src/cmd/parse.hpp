// argv in, something to do or something to say out.
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "cmd/command.hpp"
#include "cmd/plan.hpp"

namespace cmd {

/// Nothing is touched: no server, no signal, no file but the config. Throws Refusal.
std::variant<Act, Answer> parse(const std::vector<std::string>& argv);

}  // namespace cmd
