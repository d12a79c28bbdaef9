#include "cmd/parse.hpp"

#include <algorithm>
#include <array>

#include "base/text.hpp"
#include "cmd/acquire.hpp"
#include "cmd/cancel.hpp"
#include "cmd/check.hpp"
#include "cmd/doctor.hpp"
#include "cmd/force_release.hpp"
#include "cmd/inspect.hpp"
#include "cmd/list.hpp"
#include "cmd/refresh.hpp"
#include "cmd/refusal.hpp"
#include "cmd/release.hpp"
#include "cmd/run.hpp"
#include "cmd/words.hpp"
#include "version.hpp"

namespace cmd {
namespace {

constexpr std::array subcommands{&inspect_command,       &list_command,    &cancel_command,
                                 &force_release_command, &acquire_command, &refresh_command,
                                 &release_command,       &check_command,   &doctor_command};

const Command* subcommand_named(const std::string& word) {
  const auto found = std::find_if(subcommands.begin(), subcommands.end(),
                                  [&](const Command* each) { return word == each->name; });
  return found == subcommands.end() ? nullptr : *found;
}

Settings options_of(const Command& command) {
  Settings settings;
  command.declare(settings);
  settings.flag("-h,--help", "print this help");
  if (*command.name == '\0') settings.flag("-V,--version", "print the version");
  return settings;
}

std::string help(const Command& command, const Settings& settings) {
  std::string text = fmt::format("{}\n\nUsage: rlock {}\n", command.purpose, command.usage);
  if (*command.name == '\0') {
    for (const Command* each : subcommands) text += fmt::format("       rlock {}\n", each->usage);
    text += "\nWithout -k the first word is one of these commands:\n";
    for (const Command* each : subcommands) {
      text += fmt::format("  {:<15} {}\n", each->name, each->purpose);
    }
  }
  return text + "\nOptions:\n" + settings.help() + "\n" + command.examples + "\n";
}

void require_key(const Settings& settings, const Words& words) {
  if (settings.on_command_line("key")) return;
  if (words.operands.empty()) {
    throw Refusal{ExitCode::usage,
                  "nothing to do: give -k KEY and a command to run under it; see rlock --help"};
  }
  throw Refusal{ExitCode::usage,
                fmt::format("'{}' is no rlock command, and no -k KEY was given to run it under; "
                            "see rlock --help",
                            shown(words.operands.front()))};
}

std::variant<Act, Answer> parse_command(const Command& command, Settings settings,
                                        const Words& words) {
  settings.parse(command.name, words.options);
  if (settings.is_on("help")) return Answer{help(command, settings)};
  if (settings.is_on("version")) return Answer{fmt::format("rlock {}\n", version)};
  if (&command == &run_command) require_key(settings, words);
  settings.read_elsewhere();
  return command.understand(settings, words.operands);
}

/// A subcommand's options may stand before its name, on both sides of its operands, and end at
/// "--".
std::variant<Act, Answer> parse_subcommand(const Command& command,
                                           std::vector<std::string> options_before,
                                           const std::vector<std::string>& rest) {
  Settings settings = options_of(command);
  Words all{std::move(options_before), {}};
  std::vector<std::string> left = rest;
  while (!left.empty()) {
    const Words words = cut(left, settings);
    all.options.insert(all.options.end(), words.options.begin(), words.options.end());
    if (words.operands.empty()) break;
    const auto first = words.operands.begin();
    const auto taken = words.ended ? words.operands.end() : first + 1;
    all.operands.insert(all.operands.end(), first, taken);
    left.assign(taken, words.operands.end());
  }
  return parse_command(command, std::move(settings), all);
}

}  // namespace

std::variant<Act, Answer> parse(const std::vector<std::string>& argv) {
  Settings settings = options_of(run_command);
  const Words words = cut(argv, settings);
  // Only -k makes the first operand a command to run, so that no program's name is ever taken for
  // a subcommand's.
  const bool has_key = std::any_of(words.options.begin(), words.options.end(), [](auto& word) {
    return word.starts_with("--key") || (word.starts_with('-') && !word.starts_with("--") &&
                                         word.find('k') != std::string::npos);
  });
  if (!has_key && !words.operands.empty()) {
    if (const Command* command = subcommand_named(words.operands.front())) {
      return parse_subcommand(*command, words.options,
                              {words.operands.begin() + 1, words.operands.end()});
    }
  }
  return parse_command(run_command, std::move(settings), words);
}

}  // namespace cmd
