#include "cmd/completion.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/log.hpp"
#include "base/text.hpp"
#include "cmd/completion_scripts.hpp"
#include "cmd/help_topics.hpp"
#include "cmd/parse.hpp"
#include "cmd/server_options.hpp"
#include "store/backend.hpp"

namespace cmd {
namespace {

using Words = std::vector<std::string>;
using Offered = Completion::Kind;

// Stands where the word is that is being typed; no user types it.
const std::string here = "\x01";

bool starts_with(std::string_view text, std::string_view prefix) {
  return text.substr(0, prefix.size()) == prefix;
}

/// As a pattern that matches `text` only.
std::string escaped_for_glob(std::string_view text) {
  std::string pattern;
  for (const char c : text) {
    if (std::string_view{"*?[]\\"}.find(c) != std::string_view::npos) pattern += '\\';
    pattern += c;
  }
  return pattern;
}

std::string without_backslashes(std::string_view pattern) {
  std::string text;
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    if (pattern[i] == '\\' && i + 1 < pattern.size()) ++i;
    text += pattern[i];
  }
  return text;
}

/// The options that say which server, as words.
Words server_options(const Settings& settings) {
  Words words;
  for (const auto& [option, value] : settings.given()) {
    if (option->group != Group::server && option->name != "config") continue;
    words.push_back(fmt::format("{}={}", written(*option), value));
  }
  return words;
}

/// The possible values of an option, if they can be listed.
Words values_of(const Option& option) {
  if (option.name == "wait" && option.letter != 0) return {"forever"};
  if (option.name == "slot") return {"@day", "@hour", "@week", "@month"};
  if (option.name == "server") {
    return {"redis://",      "rediss://", "unix:///", "redis+sentinel://", "rediss+sentinel://",
            "postgresql://", "zk://",     "etcd://",  "etcds://",          "file:"};
  }
  Words values;
  std::string_view left = option.argument;
  while (left.find('|') != left.npos) {
    values.emplace_back(left.substr(0, left.find('|')));
    left.remove_prefix(left.find('|') + 1);
  }
  if (!values.empty()) values.emplace_back(left);
  return values;
}

Completion only(const Words& candidates, std::string_view prefix) {
  Completion completion;
  for (const auto& each : candidates) {
    if (starts_with(each, prefix)) completion.words.push_back({each});
  }
  return completion;
}

Completion commands(std::string_view prefix) {
  Completion completion;
  for (const Command* each : all_subcommands()) {
    if (starts_with(each->name, prefix)) completion.words.push_back({each->name, each->purpose});
  }
  if (starts_with("help", prefix)) {
    completion.words.push_back({"help", "show the help of a command or a topic"});
  }
  return completion;
}

Completion options_for(Commands command, const Settings& settings, std::string_view prefix) {
  Completion completion;
  for (const Option* each : options_of(command)) {
    const bool is_given =
        std::any_of(settings.given().begin(), settings.given().end(),
                    [&](const Settings::Given& given) { return given.option == each; });
    const std::string text = written(*each);
    if (starts_with(text, prefix) && (!is_given || each->repeated)) {
      completion.words.push_back({text, std::string{each->help}});
    }
  }
  return completion;
}

/// One command, with what was typed before the word in question.
struct Typed {
  Commands command;
  const Operands& operands;
  const Settings& settings;
  const std::string& word;
  const KeySource& keys;

  /// As an operand.
  [[nodiscard]] Completion key() const {
    const bool is_pattern = (command & (of::list | of::log | of::metrics)) != 0;
    Words candidates =
        keys(is_pattern ? without_backslashes(word) : word, command, server_options(settings));
    // It would be read as an option.
    if (!operands.ended) std::erase_if(candidates, [](auto& key) { return starts_with(key, "-"); });
    if (is_pattern) {
      for (std::string& each : candidates) each = escaped_for_glob(each);
    }
    return only(candidates, word);
  }
  [[nodiscard]] Completion value_of(const Option& option, const std::string& prefix) const {
    if (option.argument == "FILE") return {Offered::files};
    if (option.name == "key") return only(keys(prefix, command, server_options(settings)), prefix);
    return only(values_of(option), prefix);
  }
  /// An option or its value; nothing if it is neither.
  [[nodiscard]] std::optional<Completion> option() const {
    const auto& given = settings.given();
    if (!given.empty() && given.back().value == here) return value_of(*given.back().option, word);
    if (operands.ended || word.empty() || word.front() != '-') return std::nullopt;
    const auto equals = word.find('=');
    const Option* option = settings.option_written(word.substr(0, equals));
    if (option != nullptr && equals != word.npos) {
      return value_of(*option, word.substr(equals + 1));
    }
    return options_for(command, settings, word);
  }
};

Completion of_subcommand(const Command& command, Words before, const std::string& word,
                         const KeySource& keys) {
  Settings settings{command.name, command.bit};
  before.push_back(here);
  const Operands operands = settings.parse(before, OptionsStand::anywhere);
  const Typed typed{command.bit, operands, settings, word, keys};
  if (auto option = typed.option()) return *std::move(option);
  if (command.bit == of::acquire) return {};
  if (command.bit == of::schema) return only({"postgresql"}, word);
  const bool many = (command.bit & (of::steps | of::list | of::log | of::metrics)) != 0;
  return many || operands.words.size() == 1 ? typed.key() : Completion{};
}

}  // namespace

Completion completion_of(const Words& words, const KeySource& keys) {
  const std::string word = words.empty() ? "" : words.back();
  Words before{words.begin(), words.end() - (words.empty() ? 0 : 1)};
  Words marked = before;
  marked.push_back(here);
  Settings settings{run_command.name, run_command.bit};
  const Operands operands = settings.parse(marked, OptionsStand::before_operands);
  const Typed typed{run_command.bit, operands, settings, word, keys};
  const bool is_run = settings.on_command_line("key");
  if (operands.words.empty() || operands.words.front() == here) {
    if (auto option = typed.option()) return *std::move(option);
    return is_run ? Completion{Offered::command, {}, before.size()} : commands(word);
  }
  const auto first = before.size() - (operands.words.size() - 1);  // of the operands
  if (is_run) return {Offered::command, {}, first};
  if (before[first] == "help") {
    auto completion = commands(word);
    for (const HelpTopic& each : help_topics()) {
      if (starts_with(each.name, word)) completion.words.push_back({each.name, each.purpose});
    }
    return completion;
  }
  for (const Command* each : all_subcommands()) {
    if (before[first] != each->name) continue;
    before.erase(before.begin() + static_cast<std::ptrdiff_t>(first));
    return of_subcommand(*each, std::move(before), word, keys);
  }
  return {};
}

std::vector<std::string> keys_of_server(const std::string& prefix, Commands command,
                                        const std::vector<std::string>& typed) {
  // A person waits after pressing Tab, and notices delays from 300 ms on. The shell and the start
  // of this program take some of that.
  constexpr base::Millis patience{250};
  try {
    base::log::set_level(base::log::Level::quiet);
    Settings settings{list_command.name, list_command.bit};
    (void)settings.parse(typed, OptionsStand::before_operands);
    settings.read_elsewhere();
    const auto server = resolve_server(settings);
    base::log::set_level(base::log::Level::quiet);
    const bool looks_back = command == of::log || command == of::overdue;
    const auto admin = store::open_admin(server.spec);
    const auto found = admin->list(escaped_for_glob(prefix) + "*",
                                   looks_back ? store::Listed::remembered : store::Listed::in_use,
                                   patience, {base::Deadline::after(base::now(), patience)});
    std::vector<std::string> keys;
    if (!found) return keys;
    for (const auto& each : found->locks) {
      // A shell would insert an escaped key as it is shown, which is another key.
      if (base::is_printable(each.name.text())) keys.push_back(each.name.text());
    }
    return keys;
  } catch (const std::exception&) {
    return {};  // nothing to offer is no reason to write into somebody's command line
  }
}

const char* const completion_help =
    "usage: rlock completion bash|zsh|fish\n"
    "\n"
    "Prints the script that completes rlock's words in that shell; packages bring it.\n"
    "\n"
    "  rlock completion bash >~/.local/share/bash-completion/completions/rlock\n"
    "  rlock completion zsh >/usr/local/share/zsh/site-functions/_rlock\n"
    "  rlock completion fish >~/.config/fish/completions/rlock.fish\n";

std::string completion_answer(const Words& operands) {
  const std::string what = operands.empty() ? "" : operands.front();
  if (what == "--help" || what == "-h") return completion_help;
  if (what == "bash") return completion_for_bash;
  if (what == "zsh") return completion_for_zsh;
  if (what == "fish") return completion_for_fish;
  if (what != "words") {
    throw UsageError{ExitCode::usage, "completion: give one of bash, zsh and fish"};
  }
  const auto completion = completion_of({operands.begin() + 1, operands.end()}, keys_of_server);
  switch (completion.kind) {
    case Offered::files: return ":files\n";
    case Offered::command: return fmt::format(":command {}\n", completion.begin);
    case Offered::words: break;
  }
  std::string text = ":words\n";
  for (const auto& [word, help] : completion.words) {
    text += help.empty() ? word : fmt::format("{}\t{}", word, help);
    text += '\n';
  }
  return text;
}

}  // namespace cmd
