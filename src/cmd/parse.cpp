#include "cmd/parse.hpp"

#include <algorithm>
#include <array>

#include "base/text.hpp"
#include "cmd/force_release.hpp"
#include "cmd/inspect.hpp"
#include "cmd/list.hpp"
#include "cmd/refusal.hpp"
#include "cmd/run.hpp"
#include "cmd/words.hpp"
#include "version.hpp"

namespace cmd {
namespace {

constexpr std::array subcommands{&inspect_command, &list_command, &force_release_command};

const Command* subcommand_named(const std::string& word) {
  const auto found = std::find_if(subcommands.begin(), subcommands.end(),
                                  [&](const Command* each) { return word == each->name; });
  return found == subcommands.end() ? nullptr : *found;
}

/// One command with its options declared.
struct Grammar {
  explicit Grammar(const Command& command) : app{"", command.name} {
    app.set_help_flag();  // help is a value here, not an exception
    command.declare(app, settings);
    settings.flag(app, "-h,--help", "print this help");
    if (*command.name == '\0') settings.flag(app, "-V,--version", "print the version");
  }
  CLI::App app;
  Settings settings;
};

std::string help(const Command& command, const Grammar& grammar) {
  std::string text = fmt::format("{}\n\nUsage: rlock {}\n", command.purpose, command.usage);
  if (*command.name == '\0') {
    for (const Command* each : subcommands) text += fmt::format("       rlock {}\n", each->usage);
    text += "\nWithout -k the first word is one of these commands:\n";
    for (const Command* each : subcommands) {
      text += fmt::format("  {:<15} {}\n", each->name, each->purpose);
    }
  }
  text += "\nOptions:\n";
  for (const CLI::Option* option : grammar.app.get_options()) {
    std::string names = option->get_name(false, true);
    std::replace(names.begin(), names.end(), ',', ' ');
    if (option->get_items_expected_min() > 0) names += ' ' + option->get_type_name();
    text += fmt::format("  {:<30} {}\n", names, option->get_description());
  }
  return text + "\n" + command.examples + "\n";
}

void require_one_key(const Grammar& grammar, const Words& words) {
  const auto given = grammar.app.get_option("--key")->count();
  if (given == 1) return;
  if (given > 1) throw Refusal{ExitCode::usage, "--key: given more than once, accepted: one key"};
  if (words.operands.empty()) {
    throw Refusal{ExitCode::usage,
                  "nothing to do: give -k KEY and a command to run under it; see rlock --help"};
  }
  throw Refusal{ExitCode::usage,
                fmt::format("'{}' is no rlock command, and no -k KEY was given to run it under; "
                            "see rlock --help",
                            base::printable(words.operands.front(), 100))};
}

std::variant<Act, Answer> parse_command(const Command& command, Grammar& grammar,
                                        const Words& words) {
  parse_options(grammar.app, words.options);
  if (grammar.settings.is_on("help")) return Answer{help(command, grammar)};
  if (grammar.settings.is_on("version")) return Answer{fmt::format("rlock {}\n", version)};
  if (&command == &run_command) require_one_key(grammar, words);
  grammar.settings.read_elsewhere();
  return command.understand(grammar.settings, words.operands);
}

/// A subcommand's options may stand before its name, on both sides of its operands, and end at
/// "--".
std::variant<Act, Answer> parse_subcommand(const Command& command,
                                           std::vector<std::string> options_before,
                                           const std::vector<std::string>& rest) {
  Grammar grammar{command};
  Words all{std::move(options_before), {}};
  std::vector<std::string> left = rest;
  while (!left.empty()) {
    const Words words = cut(left, grammar.app);
    all.options.insert(all.options.end(), words.options.begin(), words.options.end());
    const bool ended = words.options.size() + words.operands.size() < left.size();
    const auto first = words.operands.begin();
    const auto taken = ended ? words.operands.end() : std::min(first + 1, words.operands.end());
    all.operands.insert(all.operands.end(), first, taken);
    left.assign(taken, words.operands.end());
  }
  return parse_command(command, grammar, all);
}

}  // namespace

std::variant<Act, Answer> parse(const std::vector<std::string>& argv) {
  Grammar grammar{run_command};
  const Words words = cut(argv, grammar.app);
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
  return parse_command(run_command, grammar, words);
}

}  // namespace cmd
