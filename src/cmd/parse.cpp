#include "cmd/parse.hpp"

#include <algorithm>
#include <array>
#include <iterator>

#include "base/text.hpp"
#include "cmd/completion.hpp"
#include "cmd/log_output.hpp"
#include "cmd/present.hpp"
#include "os/file.hpp"
#include "os/libraries.hpp"
#include "version.hpp"

namespace cmd {
namespace {

constexpr std::array subcommands{
    &inspect_command, &list_command,          &log_command,     &overdue_command, &metrics_command,
    &cancel_command,  &force_release_command, &acquire_command, &refresh_command, &release_command,
    &check_command,   &doctor_command,        &schema_command};

const Command* subcommand_named(const std::string& word) {
  const auto found = std::find_if(subcommands.begin(), subcommands.end(),
                                  [&](const Command* each) { return word == each->name; });
  return found == subcommands.end() ? nullptr : *found;
}

std::string unknown_command(const std::string& word) {
  std::vector<std::string_view> known{"help"};
  for (const Command* each : subcommands) known.emplace_back(each->name);
  const auto meant = likely_meant(word, known);
  return fmt::format("unknown command '{}'{}", shown_word(word),
                     meant.empty() ? "" : fmt::format(" (did you mean '{}'?)", meant));
}

/// For a line to copy: quoted for a shell where it has to be, and safe for a terminal.
std::string to_type(const std::string& word) {
  constexpr std::size_t longest = 100;
  const bool may_be_secret = word.find("://") != word.npos;
  if (may_be_secret || word.size() > longest) return base::shell_word(shown_word(word));
  return base::shown_shell_word(word);
}

/// Each after a blank.
std::string to_type(const std::vector<std::string>& words) {
  std::string line;
  for (const std::string& each : words) line += ' ' + to_type(each);
  return line;
}

/// An option as one would type it, with a blank before.
std::string to_type(const Settings::Given& given) {
  const Option& option = *given.option;
  std::string text = ' ' + (option.letter != 0 ? std::string{'-', option.letter} : written(option));
  if (option.takes_value()) text += (option.bare.empty() ? ' ' : '=') + to_type(given.value);
  return text;
}

/// What was typed for flock(1) in words of ours: its options, -k KEY and, as flock waits unless it
/// is told not to, -w forever.
std::string claim_as_flock(const Settings& settings, const std::string& key) {
  std::string claim;
  for (const auto& each : settings.given()) claim += to_type(each);
  const bool waits = settings.on_command_line("wait") || settings.on_command_line("nonblock");
  return fmt::format("{} -k {}{}", claim, key, waits ? "" : " -w forever");
}

/// The command behind flock's FILE: CMD ARG..., or -c STRING.
std::string command_as_flock(const std::vector<std::string>& operands) {
  std::vector<std::string> command{operands.begin() + 1, operands.end()};
  if (command.size() == 2 && command.front() == "-c") return to_type(command);
  if (command.front() == "--") command.erase(command.begin());
  return " --" + to_type(command);
}

void require_key(const Settings& settings, const std::vector<std::string>& operands) {
  if (settings.on_command_line("key")) return;
  if (operands.empty()) {
    throw UsageError{ExitCode::usage,
                     "nothing to do; to run a program: rlock -k KEY -- COMMAND (see rlock --help)"};
  }
  const std::string& word = operands.front();
  if (!settings.given().empty() && settings.given().back().option->name == "supersede" &&
      (word == "all" || word == "waiting")) {
    throw UsageError{ExitCode::usage,
                     fmt::format("no -k KEY given; a value of --supersede stands behind an equals "
                                 "sign: --supersede={}",
                                 word)};
  }
  const std::string shown = to_type(word);
  // As flock(1) is used.
  if (word.find_first_not_of("0123456789") == word.npos) {
    throw UsageError{ExitCode::usage,
                     fmt::format("rlock locks a key and not file descriptor {}; for a script: "
                                 "eval \"$(rlock acquire{}{} --export)\" || exit; "
                                 "at its end: rlock release",
                                 shown, claim_as_flock(settings, "KEY"),
                                 settings.on_command_line("ttl") ? "" : " --ttl 30m")};
  }
  const bool has_command = operands.size() > 1 && operands.back() != "--";
  const bool is_file = word.find('/') != word.npos || word.ends_with(".lock");
  if (has_command && (is_file || os::is_regular_file(word))) {
    throw UsageError{ExitCode::usage,
                     fmt::format("no -k KEY given; to lock {} as flock does: rlock{}{}", shown,
                                 claim_as_flock(settings, shown), command_as_flock(operands))};
  }
  throw UsageError{ExitCode::usage, fmt::format("{}; to run a program: rlock -k KEY --{}",
                                                unknown_command(word), to_type(operands))};
}

/// `rlock help [COMMAND]`
Answer help_on(const std::vector<std::string>& operands) {
  if (operands.size() > 1) {
    throw UsageError{ExitCode::usage, fmt::format("unexpected argument '{}'; give one COMMAND",
                                                  shown_word(operands[1]))};
  }
  if (operands.empty() || operands.front() == "help") return Answer{help_text(run_command)};
  if (operands.front() == "completion") return Answer{completion_help};
  const Command* command = subcommand_named(operands.front());
  if (command == nullptr) {
    throw UsageError{ExitCode::usage,
                     fmt::format("{}; for a list: rlock help", unknown_command(operands.front()))};
  }
  return Answer{help_text(*command)};
}

// What a run's help says at its end.
constexpr const char* run_help_end =
    "DUR is a duration: 30 or 30s, 300ms, 10m, 1h30m, 2d. Options can also come from\n"
    "variables (RLOCK_TTL) and config files.\n"
    "\n"
    "Exit codes: that of the job; 128+N if signal N ended it; 64 usage; 69 no server;\n"
    "75 lock busy; 76 lock lost or run cancelled; 77 access denied; 78 bad config or\n"
    "URL; 126, 127 the command cannot be run. The whole story: man rlock";

/// `settings` have the options of the command line.
std::variant<Act, Answer> resolve(const Command& command, Settings settings,
                                  const Operands& operands) {
  // What is wrong with the settings is said in it, too.
  const auto variable = settings.find("log-json");
  if (settings.on_command_line("log-json") ||
      (variable && yes_or_no(variable->text).value_or(false))) {
    log_as_json();
  }
  if (!operands.mistake.empty()) throw UsageError{ExitCode::usage, operands.mistake};
  if (settings.is_on("help")) return Answer{help_text(command)};
  if (settings.is_on("version")) return Answer{fmt::format("rlock {}\n{}\n", version, built_with)};
  if (&command == &run_command) require_key(settings, operands.words);
  settings.read_elsewhere();
  set_up_log(settings);
  return command.resolve(settings, operands.words);
}

}  // namespace

const std::vector<const Command*>& all_subcommands() {
  static const std::vector<const Command*> all{subcommands.begin(), subcommands.end()};
  return all;
}

std::string help_text(const Command& command) {
  std::string text = fmt::format("{}\n\nUsage: rlock {}\n", command.purpose, command.usage);
  if (&command != &run_command) {
    return text + fmt::format("\n{}\n\n{}", command.notes, help_of(command.bit));
  }
  text += fmt::format("       rlock COMMAND [OPTIONS] ...\n\n{}\n\n", command.notes);
  text += "Commands, where there is no -k; rlock help COMMAND says more:\n";
  for (const Command* each : subcommands) {
    text += fmt::format("  {:<15} {}\n", each->name, wrapped(each->purpose, 18));
  }
  return text + fmt::format("\n{}\n{}\n", help_of(command.bit), run_help_end);
}

std::variant<Act, Answer> parse(const std::vector<std::string>& argv) {
  os::keep_command_line(argv);
  Settings settings{run_command.name, run_command.bit};
  const Operands operands = settings.parse(argv, OptionsStand::before_operands);
  // Only -k makes the first operand a command to run, so that no program's name is ever taken for
  // a subcommand's.
  if (settings.on_command_line("key") || operands.words.empty()) {
    return resolve(run_command, std::move(settings), operands);
  }
  const std::string& word = operands.words.front();
  const std::vector<std::string> behind{operands.words.begin() + 1, operands.words.end()};
  if (word == "help") return help_on(behind);
  if (word == "completion") return Answer{completion_answer(behind)};
  const Command* command = subcommand_named(word);
  if (command == nullptr) return resolve(run_command, std::move(settings), operands);

  // The options on both sides of its name are the subcommand's.
  std::vector<std::string> around{argv.begin(),
                                  argv.end() - static_cast<std::ptrdiff_t>(operands.words.size())};
  if (operands.ended) around.pop_back();  // the --
  around.insert(around.end(), behind.begin(), behind.end());
  Settings own{command->name, command->bit};
  const Operands all = own.parse(around, OptionsStand::anywhere);
  const bool is_for_eval = own.on_command_line("export");
  try {
    return resolve(*command, std::move(own), all);
  } catch (const UsageError& error) {
    if (!is_for_eval) throw;
    return [error]() -> int {
      print(failure_for_eval(error.code));
      throw error;
    };
  }
}

}  // namespace cmd
