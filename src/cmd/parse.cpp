#include "cmd/parse.hpp"

#include <algorithm>
#include <array>
#include <iterator>

#include "cmd/completion.hpp"
#include "cmd/guess.hpp"
#include "cmd/help_topics.hpp"
#include "cmd/log_output.hpp"
#include "cmd/present.hpp"
#include "os/libraries.hpp"
#include "os/stdio.hpp"
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

/// `rlock help [COMMAND|TOPIC]`
Answer help_on(const std::vector<std::string>& operands) {
  if (operands.size() > 1) {
    throw UsageError{ExitCode::usage,
                     fmt::format("unexpected argument '{}'; give one COMMAND or TOPIC",
                                 shown_word(operands[1]))};
  }
  if (operands.empty() || operands.front() == "help" || operands.front() == "--help" ||
      operands.front() == "-h") {
    return Answer{help_text(run_command)};
  }
  if (operands.front() == "completion") return Answer{completion_help};
  const Command* command = subcommand_named(operands.front());
  if (command == nullptr) {
    if (auto topic = topic_text(operands.front())) return Answer{*std::move(topic)};
    throw UsageError{ExitCode::usage,
                     fmt::format("{}; for a list: rlock help", unknown_command(operands.front()))};
  }
  return Answer{help_text(*command)};
}

// The end of a run's help.
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
  // Messages about the settings also need the chosen format.
  const auto variable = settings.find("log-json");
  if (settings.on_command_line("log-json") ||
      (variable && yes_or_no(variable->text).value_or(false))) {
    log_as_json();
  }
  if (!operands.mistake.empty()) throw UsageError{ExitCode::usage, operands.mistake};
  if (settings.is_on("help")) return Answer{help_text(command)};
  if (settings.is_on("version")) return Answer{fmt::format("rlock {}\n{}\n", version, built_with)};
  if (&command == &run_command && operands.words.empty() && settings.given().empty()) {
    return [] {
      (void)os::write_stderr_at_once(short_help);
      return ExitCode::usage;
    };
  }
  if (&command == &run_command) require_key(settings, operands);
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
  text += "\nTopics; rlock help TOPIC says more:\n";
  for (const HelpTopic& each : help_topics()) {
    text += fmt::format("  {:<15} {}\n", each.name, wrapped(each.purpose, 18));
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
