#include "cmd/guess.hpp"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "base/text.hpp"
#include "cmd/parse.hpp"
#include "cmd/present.hpp"
#include "os/file.hpp"

namespace cmd {
namespace {

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

/// The options that were typed before the operands, each after a blank.
std::string options_of(const Settings& settings) {
  std::string text;
  for (const auto& each : settings.given()) text += to_type(each);
  return text;
}

/// The options that were typed for flock(1) as ours, and -k KEY. flock waits unless it is told not
/// to, so -w forever.
std::string claim_as_flock(const Settings& settings, const std::string& key) {
  const bool waits = settings.on_command_line("wait") || settings.on_command_line("nonblock");
  return fmt::format("{} -k {}{}", options_of(settings), key, waits ? "" : " -w forever");
}

/// The command behind flock's FILE: CMD ARG..., or -c STRING.
std::string command_as_flock(const std::vector<std::string>& operands) {
  std::vector<std::string> command{operands.begin() + 1, operands.end()};
  if (command.size() == 2 && command.front() == "-c") return to_type(command);
  if (command.front() == "--") command.erase(command.begin());
  return " --" + to_type(command);
}

/// The names of other tools for our commands.
struct Synonym {
  std::string_view word;
  std::string_view command;
};
constexpr std::array synonyms{Synonym{"ls", "list"},
                              Synonym{"ps", "list"},
                              Synonym{"locks", "list"},
                              Synonym{"top", "list"},
                              Synonym{"status", "inspect"},
                              Synonym{"show", "inspect"},
                              Synonym{"info", "inspect"},
                              Synonym{"who", "inspect"},
                              Synonym{"get", "inspect"},
                              Synonym{"describe", "inspect"},
                              Synonym{"unlock", "release"},
                              Synonym{"free", "release"},
                              Synonym{"break", "force-release"},
                              Synonym{"steal", "force-release"},
                              Synonym{"del", "force-release"},
                              Synonym{"delete", "force-release"},
                              Synonym{"rm", "force-release"},
                              Synonym{"remove", "force-release"},
                              Synonym{"stop", "cancel"},
                              Synonym{"kill", "cancel"},
                              Synonym{"abort", "cancel"},
                              Synonym{"interrupt", "cancel"},
                              Synonym{"history", "log"},
                              Synonym{"runs", "log"},
                              Synonym{"logs", "log"},
                              Synonym{"health", "doctor"},
                              Synonym{"ping", "doctor"},
                              Synonym{"test", "doctor"},
                              Synonym{"lock", "acquire"},
                              Synonym{"take", "acquire"},
                              Synonym{"renew", "refresh"},
                              Synonym{"extend", "refresh"},
                              Synonym{"tail", "log"},
                              Synonym{"timeline", "log --timeline"},
                              Synonym{"watch", "list --watch"},
                              Synonym{"queue", "inspect"},
                              Synonym{"waiters", "inspect"},
                              Synonym{"holder", "inspect"},
                              Synonym{"holders", "inspect"},
                              Synonym{"force-unlock", "force-release"},
                              Synonym{"stats", "metrics"},
                              Synonym{"late", "overdue"},
                              Synonym{"version", "--version"},
                              Synonym{"man", "help"},
                              Synonym{"config", "help files"}};

/// The command that the word probably means; empty: none.
std::string_view command_meant(const std::string& word, bool has_operands) {
  const auto found = std::find_if(synonyms.begin(), synonyms.end(),
                                  [&](const Synonym& each) { return each.word == word; });
  if (found != synonyms.end()) {
    const bool wants_key = found->command == "inspect";
    return wants_key && !has_operands ? "list" : found->command;
  }
  std::vector<std::string_view> known{"help"};
  for (const Command* each : all_subcommands()) known.emplace_back(each->name);
  return likely_meant(word, known);
}

/// As `rlock acquire` takes them, with the rest of the command line.
std::string proposal_to_acquire(const Settings& settings, const std::vector<std::string>& behind) {
  const std::string options = options_of(settings);
  const std::string key = behind.empty() ? "KEY" : to_type(behind.front());
  if (behind.size() > 1) {
    return fmt::format("; to run a program: rlock{} -k {} --{}", options, key,
                       to_type(std::vector<std::string>{behind.begin() + 1, behind.end()}));
  }
  return fmt::format("; did you mean: rlock{} acquire -k {} --ttl 30m", options, key);
}

/// "--wait 2 h": the unit of a duration stands apart, and would be taken for a command.
void require_no_unit(const Settings& settings, const Operands& operands) {
  if (operands.words.empty() || operands.ended || settings.given().empty()) return;
  const auto& last = settings.given().back();
  const std::string& word = operands.words.front();
  constexpr std::array<std::string_view, 5> units{"ms", "s", "m", "h", "d"};
  const bool is_unit = std::find(units.begin(), units.end(), word) != units.end();
  const bool lacks_unit = last.option->argument == "DUR" && !last.value.empty() &&
                          last.value.find_first_not_of("0123456789") == std::string::npos;
  if (!is_unit || !lacks_unit) return;
  throw UsageError{ExitCode::usage,
                   fmt::format("{} {} {}: write {}{} without a blank", written(*last.option),
                               last.value, word, last.value, word)};
}

/// With the rest of the command line, to be copied.
std::string proposal(const Settings& settings, const std::vector<std::string>& operands) {
  const std::vector<std::string> behind{operands.begin() + 1, operands.end()};
  const std::string& word = operands.front();
  const std::string options = options_of(settings);
  if (word == "run" || word == "exec") {
    auto command = behind;
    if (!command.empty() && command.front() == "--") command.erase(command.begin());
    return fmt::format("; to run a program: rlock{} -k KEY --{}", options,
                       command.empty() ? " COMMAND" : to_type(command));
  }
  const auto meant = command_meant(word, !behind.empty());
  if (meant.empty()) {
    return fmt::format("; to run a program: rlock{} -k KEY --{}", options, to_type(operands));
  }
  if (meant == "acquire") return proposal_to_acquire(settings, behind);
  auto text = fmt::format("; did you mean: rlock{} {}{}", options, meant, to_type(behind));
  // A script releases its own lock; an operator wants to remove that of another.
  if (meant == "release") {
    text += fmt::format(", or for the lock of another: rlock{} force-release{}", options,
                        to_type(behind));
  }
  return text;
}

}  // namespace

std::string unknown_command(const std::string& word) {
  const auto meant = command_meant(word, true);
  return fmt::format("unknown command '{}'{}", shown_word(word),
                     meant.empty() ? "" : fmt::format(" (did you mean '{}'?)", meant));
}

void require_key(const Settings& settings, const Operands& operands) {
  const std::vector<std::string>& words = operands.words;
  const bool has_key = settings.on_command_line("key");
  if (!words.empty() && !operands.ended && !settings.given().empty() &&
      settings.given().back().option->name == "supersede" &&
      (words.front() == "all" || words.front() == "waiting")) {
    throw UsageError{
        ExitCode::usage,
        fmt::format("{}a value of --supersede stands behind an equals sign: --supersede={}",
                    has_key ? "" : "no -k KEY given; ", words.front())};
  }
  require_no_unit(settings, operands);
  if (has_key) return;
  if (words.empty()) {
    throw UsageError{ExitCode::usage,
                     "nothing to do; to run a program: rlock -k KEY -- COMMAND (see rlock --help)"};
  }
  const std::string& word = words.front();
  const std::string shown = to_type(word);
  // As flock(1) is used.
  if (word.find_first_not_of("0123456789") == word.npos) {
    const auto servers = settings.all("server");
    const std::string server = servers.empty() ? variable("RLOCK_SERVER") : servers.front();
    if (server.starts_with("file:")) {
      throw UsageError{
          ExitCode::usage,
          fmt::format("rlock locks a key and not file descriptor {}; rlock-recipes(7) has a script "
                      "that locks itself",
                      shown)};
    }
    throw UsageError{ExitCode::usage,
                     fmt::format("rlock locks a key and not file descriptor {}; for a script: "
                                 "eval \"$(rlock acquire{}{} --export)\" || exit; "
                                 "at its end: rlock release",
                                 shown, claim_as_flock(settings, "KEY"),
                                 settings.on_command_line("ttl") ? "" : " --ttl 30m")};
  }
  const bool has_command = words.size() > 1 && words.back() != "--";
  const bool is_file = word.find('/') != word.npos || word.ends_with(".lock");
  if (has_command && (is_file || os::is_regular_file(word))) {
    throw UsageError{ExitCode::usage,
                     fmt::format("no -k KEY given; to lock {} as flock does: rlock{}{}{}", shown,
                                 settings.on_command_line("server") ? "" : " -S file:",
                                 claim_as_flock(settings, shown), command_as_flock(words))};
  }
  if (operands.ended) {
    throw UsageError{ExitCode::usage,
                     fmt::format("no -k KEY given; to run a program: rlock{} -k KEY --{}",
                                 options_of(settings), to_type(words))};
  }
  throw UsageError{ExitCode::usage, fmt::format("unknown command '{}'{}", shown_word(word),
                                                proposal(settings, words))};
}

}  // namespace cmd
