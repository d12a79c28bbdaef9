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

/// All but the run.
const std::vector<const Command*>& all_subcommands();

/// `rlock COMMAND --help`
std::string help_text(const Command& command);

}  // namespace cmd
