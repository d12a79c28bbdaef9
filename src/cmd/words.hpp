// argv, cut into options and operands before CLI11 sees any of it.
#pragma once

#include <string>
#include <vector>

#include "cmd/settings.hpp"

namespace cmd {

struct Words {
  std::vector<std::string> options;   // with their values
  std::vector<std::string> operands;  // from the first operand on, byte for byte
  bool ended = false;                 // a `--` said that nothing else is an option
};

/// Options end at the first word that is neither one nor the value of one, or behind a `--`. One
/// `--` right before the operands goes; every later one is an operand. `settings` tells which
/// options take a value; those it does not know are taken for flags.
Words cut(const std::vector<std::string>& argv, const Settings& settings);

}  // namespace cmd
