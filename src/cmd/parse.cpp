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

constexpr std::array subcommands{&inspect_command,       &list_command,    &log_command,
                                 &overdue_command,       &metrics_command, &cancel_command,
                                 &force_release_command, &acquire_command, &refresh_command,
                                 &release_command,       &check_command,   &doctor_command};

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

bool has(const SplitArgv& words, OptionName option) {
  return std::any_of(words.meant.begin(), words.meant.end(),
                     [&](const Option* each) { return each->name == option.text(); });
}

/// What was typed for flock(1) in words of ours: its options, -k KEY and, as flock waits unless it
/// is told not to, -w forever.
std::string claim_as_flock(const SplitArgv& words, const std::string& key) {
  const bool waits = has(words, "wait") || has(words, "nonblock");
  return fmt::format("{} -k {}{}", to_type(words.options), key, waits ? "" : " -w forever");
}

/// The command behind flock's FILE: CMD ARG..., or -c STRING.
std::string command_as_flock(const std::vector<std::string>& operands) {
  std::vector<std::string> command{operands.begin() + 1, operands.end()};
  if (command.size() == 2 && command.front() == "-c") return to_type(command);
  if (command.front() == "--") command.erase(command.begin());
  return " --" + to_type(command);
}

void require_key(const Settings& settings, const SplitArgv& words) {
  if (settings.on_command_line("key")) return;
  if (words.operands.empty()) {
    throw UsageError{ExitCode::usage,
                     "nothing to do; to run a program: rlock -k KEY -- COMMAND (see rlock --help)"};
  }
  const std::string& word = words.operands.front();
  if (!words.meant.empty() && words.meant.back()->name == "supersede" &&
      (word == "all" || word == "waiting")) {
    throw UsageError{ExitCode::usage,
                     fmt::format("no -k KEY given; a value of --supersede stands behind an equals "
                                 "sign: --supersede={}",
                                 word)};
  }
  const std::string shown = to_type(word);
  // As flock(1) is used.
  if (word.find_first_not_of("0123456789") == word.npos) {
    throw UsageError{
        ExitCode::usage,
        fmt::format("rlock locks a key and not file descriptor {}; for a script: "
                    "eval \"$(rlock acquire{}{} --export)\" || exit; "
                    "at its end: rlock release",
                    shown, claim_as_flock(words, "KEY"), has(words, "ttl") ? "" : " --ttl 30m")};
  }
  const bool has_command = words.operands.size() > 1 && words.operands.back() != "--";
  const bool is_file = word.find('/') != word.npos || word.ends_with(".lock");
  if (has_command && (is_file || os::is_regular_file(word))) {
    throw UsageError{ExitCode::usage,
                     fmt::format("no -k KEY given; to lock {} as flock does: rlock{}{}", shown,
                                 claim_as_flock(words, shown), command_as_flock(words.operands))};
  }
  throw UsageError{ExitCode::usage, fmt::format("{}; to run a program: rlock -k KEY --{}",
                                                unknown_command(word), to_type(words.operands))};
}

/// What CLI11 is told, which knows no option by flock's name.
std::string in_our_words(const std::string& cluster, const Settings& settings) {
  std::string ours = cluster;
  for (std::size_t i = 1; i < ours.size(); ++i) {
    const Option* option = settings.option_written(std::string{'-', ours[i]});
    if (option == nullptr) continue;
    ours[i] = option->letter;
    if (option->takes_value()) break;
  }
  return ours;
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

std::variant<Act, Answer> resolve(const Command& command, Settings settings,
                                  const SplitArgv& words) {
  // What is wrong with the settings is said in it, too.
  const auto variable = settings.find("log-json");
  if (has(words, "log-json") || (variable && yes_or_no(variable->text).value_or(false))) {
    log_as_json();
  }
  settings.parse(words.options, words.meant);
  if (settings.is_on("help")) return Answer{help_text(command)};
  if (settings.is_on("version")) return Answer{fmt::format("rlock {}\n{}\n", version, built_with)};
  if (&command == &run_command) require_key(settings, words);
  settings.read_elsewhere();
  set_up_log(settings);
  return command.resolve(settings, words.operands);
}

}  // namespace

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
    all.ended = all.ended || words.ended;
    if (words.operands.empty()) break;
    const auto first = words.operands.begin();
    const auto taken = words.ended ? words.operands.end() : first + 1;
    all.operands.insert(all.operands.end(), first, taken);
    left.assign(taken, words.operands.end());
  }
  return all;
}

const std::vector<const Command*>& all_subcommands() {
  static const std::vector<const Command*> all{subcommands.begin(), subcommands.end()};
  return all;
}

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
        words.options.push_back(written(*option));
        words.options.push_back(word->substr(equals + 1));
        continue;
      }
      if (takes_value && !option->bare.empty()) {
        words.options.push_back(written(*option));
        words.options.emplace_back(option->bare);
        continue;
      }
      wants_next = takes_value;
      const bool is_whole = option != nullptr && equals == std::string::npos;
      words.options.push_back(is_whole ? written(*option) : *word);
    } else {
      wants_next = read_cluster(*word, settings, words.meant);
      words.options.push_back(in_our_words(*word, settings));
    }
    if (wants_next && std::next(word) != argv.end()) words.options.push_back(*++word);
  }
  words.operands.assign(word, argv.end());
  return words;
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
  const SplitArgv words = split_argv(argv, settings);
  // Only -k makes the first operand a command to run, so that no program's name is ever taken for
  // a subcommand's.
  if (!has(words, "key") && !words.operands.empty()) {
    if (words.operands.front() == "help") {
      return help_on({words.operands.begin() + 1, words.operands.end()});
    }
    if (words.operands.front() == "completion") {
      return Answer{completion_answer({words.operands.begin() + 1, words.operands.end()})};
    }
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
