// argv in, something to do or something to say out.
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "cmd/commands.hpp"

namespace cmd {

/// Something to print on stdout: a help text, the version.
struct Answer {
  std::string text;
};

/// Nothing is touched: no server, no signal, no file but the config. Throws UsageError.
std::variant<Act, Answer> parse(const std::vector<std::string>& argv);

/// argv, split into options and operands before CLI11 sees any of it.
struct SplitArgv {
  std::vector<std::string> options;   // with their values
  std::vector<const Option*> meant;   // those of the table that are among them
  std::vector<std::string> operands;  // from the first operand on, byte for byte
  bool ended = false;                 // a `--` said that nothing else is an option
};

/// Options end at the first word that is neither one nor the value of one, or behind a `--`. One
/// `--` right before the operands goes; every later one is an operand. `settings` knows the
/// options; what it does not know is taken for a flag.
SplitArgv split_argv(const std::vector<std::string>& argv, const Settings& settings);

/// The same of what stands around a subcommand's name: options are on both sides of its operands,
/// and end at "--".
SplitArgv split_around_operands(const Settings& settings,
                                const std::vector<std::string>& options_before,
                                std::vector<std::string> left);

/// All but the run.
const std::vector<const Command*>& all_subcommands();

/// `rlock COMMAND --help`
std::string help_text(const Command& command);

}  // namespace cmd
