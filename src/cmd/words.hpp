// argv, cut into options and operands before CLI11 sees any of it.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace cmd {

struct Words {
  std::vector<std::string> options;   // with their values
  std::vector<std::string> operands;  // from the first operand on, byte for byte
};

/// Options end at the first word that is neither one nor the value of one, or behind a `--`. One
/// `--` right before the operands goes; every later one is an operand. `app` tells which options
/// take a value; those it does not know are taken for flags.
Words cut(const std::vector<std::string>& argv, const CLI::App& app);

/// Parses the options alone. Throws Refusal for what CLI11 does not accept; help and version are
/// flags like others here.
void parse_options(CLI::App& app, const std::vector<std::string>& options);

}  // namespace cmd
