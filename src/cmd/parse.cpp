#include "cmd/parse.hpp"

#include <algorithm>
#include <array>
#include <iterator>

#include "cmd/log_output.hpp"
#include "cmd/present.hpp"
#include "os/libraries.hpp"
#include "version.hpp"

namespace cmd {
namespace {

constexpr std::array subcommands{&inspect_command,       &list_command,    &log_command,
                                 &overdue_command,       &metrics_command, &cancel_command,
                                 &force_release_command, &acquire_command, &refresh_command,
                                 &release_command,       &check_command,   &doctor_command};

const Command* subcommand_named(const std::string& word) {
  const auto found = std::find_if(subcommands.begin(), subcommands.end(),
                                  [&](const Command* each) { return word == each->name; });
  return found == subcommands.end() ? nullptr : *found;
}

void require_key(const Settings& settings, const SplitArgv& words) {
  if (settings.on_command_line("key")) return;
  if (words.operands.empty()) {
    throw UsageError{ExitCode::usage,
                     "nothing to do: give -k KEY and a command to run under it; see rlock --help"};
  }
  const std::string& word = words.operands.front();
  std::vector<std::string_view> known;
  known.reserve(subcommands.size());
  for (const Command* each : subcommands) known.emplace_back(each->name);
  const auto meant = likely_meant(word, known);
  const std::string guess = meant.empty() ? "" : fmt::format("did you mean '{}'? ", meant);
  throw UsageError{ExitCode::usage,
                   fmt::format("'{}' is no rlock command, and no -k KEY was given to run it under; "
                               "{}see rlock --help",
                               shown_word(word), guess)};
}

/// The options in a word that begins with one dash: letters of flags, then perhaps that of an
/// option with a value, which is the rest of the word, or the next one where there is no rest.
/// Returns whether it wants the next one.
bool read_cluster(const std::string& word, const Settings& settings,
                  std::vector<const Option*>& meant) {
  for (std::size_t i = 1; i < word.size(); ++i) {
    const Option* option = settings.option_written(std::string{'-', word[i]});
    if (option == nullptr) continue;
    meant.push_back(option);
    if (option->takes_value()) return i + 1 == word.size();
  }
  return false;
}

std::variant<Act, Answer> resolve(const Command& command, Settings settings,
                                  const SplitArgv& words) {
  settings.parse(words.options, words.meant);
  if (settings.is_on("help")) return Answer{help_text(command)};
  if (settings.is_on("version")) return Answer{fmt::format("rlock {}\n", version)};
  if (&command == &run_command) require_key(settings, words);
  settings.read_elsewhere();
  set_up_log(settings);
  return command.resolve(settings, words.operands);
}

/// A subcommand's options may stand before its name, on both sides of its operands, and end at
/// "--".
SplitArgv split_around_operands(const Settings& settings,
                                const std::vector<std::string>& options_before,
                                std::vector<std::string> left) {
  SplitArgv all = split_argv(options_before, settings);
  // A run's option may take them for its value, one that this command does not know.
  all.operands.clear();
  while (!left.empty()) {
    const SplitArgv words = split_argv(left, settings);
    all.options.insert(all.options.end(), words.options.begin(), words.options.end());
    all.meant.insert(all.meant.end(), words.meant.begin(), words.meant.end());
    if (words.operands.empty()) break;
    const auto first = words.operands.begin();
    const auto taken = words.ended ? words.operands.end() : first + 1;
    all.operands.insert(all.operands.end(), first, taken);
    left.assign(taken, words.operands.end());
  }
  return all;
}

bool has(const SplitArgv& words, OptionName option) {
  return std::any_of(words.meant.begin(), words.meant.end(),
                     [&](const Option* each) { return each->name == option.text(); });
}

}  // namespace

SplitArgv split_argv(const std::vector<std::string>& argv, const Settings& settings) {
  SplitArgv words;
  auto word = argv.begin();
  for (; word != argv.end() && word->size() > 1 && word->front() == '-'; ++word) {
    if (*word == "--") {
      ++word;
      words.ended = true;
      break;
    }
    bool wants_next = false;
    if (word->starts_with("--")) {
      const auto equals = word->find('=');
      const Option* option = settings.option_written(word->substr(0, equals));
      const bool takes_value = option != nullptr && option->takes_value();
      // CLI11 would take "--quiet=no" for a flag that is set; here that is no option at all.
      if (takes_value || (option != nullptr && equals == std::string::npos)) {
        words.meant.push_back(option);
      }
      if (takes_value && equals != std::string::npos) {
        // In two words, because CLI11 takes "--ttl=" for a value that was forgotten.
        words.options.push_back(word->substr(0, equals));
        words.options.push_back(word->substr(equals + 1));
        continue;
      }
      if (takes_value && !option->bare.empty()) {
        words.options.push_back(*word);
        words.options.emplace_back(option->bare);
        continue;
      }
      wants_next = takes_value;
    } else {
      wants_next = read_cluster(*word, settings, words.meant);
    }
    words.options.push_back(*word);
    if (wants_next && std::next(word) != argv.end()) words.options.push_back(*++word);
  }
  words.operands.assign(word, argv.end());
  return words;
}

std::string help_text(const Command& command) {
  std::string text = fmt::format("{}\n\nUsage: rlock {}\n", command.purpose, command.usage);
  if (&command == &run_command) {
    for (const Command* each : subcommands) text += fmt::format("       rlock {}\n", each->usage);
    text += "\nWithout -k the first word is one of these commands:\n";
    for (const Command* each : subcommands) {
      text += fmt::format("  {:<15} {}\n", each->name, wrapped(each->purpose, 18));
    }
  }
  return text + "\n" + help_of(command.bit) + "\n" + command.notes + "\n";
}

std::variant<Act, Answer> parse(const std::vector<std::string>& argv) {
  os::keep_command_line(argv);
  Settings settings{run_command.name, run_command.bit};
  const SplitArgv words = split_argv(argv, settings);
  // Only -k makes the first operand a command to run, so that no program's name is ever taken for
  // a subcommand's.
  if (!has(words, "key") && !words.operands.empty()) {
    if (const Command* command = subcommand_named(words.operands.front())) {
      Settings own{command->name, command->bit};
      const SplitArgv all = split_around_operands(
          own, words.options, {words.operands.begin() + 1, words.operands.end()});
      try {
        return resolve(*command, std::move(own), all);
      } catch (const UsageError& error) {
        if (!has(all, "export")) throw;
        return [error]() -> int {
          print(failure_for_eval(error.code));
          throw error;
        };
      }
    }
  }
  return resolve(run_command, std::move(settings), words);
}

}  // namespace cmd
