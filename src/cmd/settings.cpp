#include "cmd/settings.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cstdlib>

#include "base/duration.hpp"
#include "base/fields.hpp"
#include "base/log.hpp"
#include "base/text.hpp"
#include "os/file.hpp"
#include "os/host.hpp"
#include "os/libraries.hpp"

namespace cmd {
namespace {

const FlockOption* named_by_flock(std::string_view word) {
  const auto* found = std::find_if(flock_options.begin(), flock_options.end(),
                                   [&](const auto& each) { return each.written == word; });
  return found == flock_options.end() ? nullptr : found;
}

// CLI11 reads the command line and nothing else: environment and config files have rules of their
// own here (which user may write a file, which line a mistake is in). It is told only of options
// that the command line may contain, because each one costs 10,000 instructions, and all of them
// would double what a run takes.

/// A row's names as CLI11 wants them: "-w,--wait,--timeout".
std::string names_for_cli11(const Option& option, bool with_those_of_flock) {
  std::string names = option.has_long_form() ? written(option) : "";
  if (option.letter != 0) names.append(names.empty() ? "-" : ",-").push_back(option.letter);
  for (const FlockOption& each : flock_options) {
    if (with_those_of_flock && each.ours == option.name) names.append(",").append(each.written);
  }
  return names;
}

// CLI11 takes "--ttl=" for an option without its value, and the next word for that value. So an
// empty value reaches it as a NUL, which no argument contains.
constexpr char empty_value = '\0';

std::string to_cli11(const std::string& word) {
  const bool has_empty_value = word.starts_with("--") && word.find('=') == word.size() - 1;
  return has_empty_value ? word + empty_value : word;
}

std::string from_cli11(std::string word) {
  if (word.ends_with(empty_value)) word.pop_back();
  return word;
}

bool looks_like_option(std::string_view word) {
  return word.size() > 1 && word.front() == '-';
}

}  // namespace

ExitCode exit_code_for(const Setting& mistaken) {
  return mistaken.origin == Setting::Origin::config ? ExitCode::bad_config : ExitCode::usage;
}

UsageError not_accepted(const Setting& setting, std::string_view expected) {
  return not_accepted(setting.source, setting.text, expected, exit_code_for(setting));
}

Settings::Settings(std::string name, Commands command) : name_{std::move(name)}, command_{command} {
  for (const Option* each : options_of(command)) rows_.push_back({each});
}

std::optional<std::size_t> Settings::row_written(std::string_view word) const {
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    const Option& option = *rows_[i].option;
    const bool is_it = word.starts_with("--")
                           ? option.has_long_form() && option.name == word.substr(2)
                           : word.size() == 2 && option.letter == word[1];
    if (is_it) return i;
  }
  // Only a run and `acquire` are what flock does.
  if ((command_ & of::claims) == 0) return std::nullopt;
  const FlockOption* of_flock = named_by_flock(word);
  const Row* row = of_flock == nullptr ? nullptr : this->row(of_flock->ours);
  if (row == nullptr) return std::nullopt;
  return static_cast<std::size_t>(row - rows_.data());
}

const Option* Settings::option_written(std::string_view word) const {
  const auto row = row_written(word);
  return row ? rows_[*row].option : nullptr;
}

std::string Settings::unknown_option(const std::string& word) const {
  const std::string shown = shown_option(word);
  const bool is_long = shown.starts_with("--");
  const auto name = word.substr(0, word.find('='));
  if (is_long && option_written(name) != nullptr) {
    return fmt::format("option '{}' takes no value", name);
  }
  if (const FlockOption* of_flock = named_by_flock(is_long ? name : word)) {
    if (!of_flock->hint.empty()) {
      return fmt::format("unknown option '{}' of flock; {}", shown, of_flock->hint);
    }
  }
  std::vector<std::string_view> known;
  for (const Row& each : rows_) known.push_back(each.option->name);
  for (const FlockOption& each : flock_options) {
    if (each.written.starts_with("--") && option_written(each.written) != nullptr) {
      known.push_back(each.written.substr(2));
    }
  }
  const auto meant = is_long ? likely_meant(std::string_view{shown}.substr(2), known) : "";
  if (!meant.empty()) return fmt::format("unknown option '{}'; did you mean '--{}'?", shown, meant);
  return fmt::format("unknown option '{}'; for a list: rlock{}{} --help", shown,
                     name_.empty() ? "" : " ", name_);
}

std::vector<std::size_t> Settings::may_be_given(const std::vector<std::string>& argv,
                                                OptionsStand where) const {
  std::vector<std::size_t> may_be;
  const auto takes_value = [&](std::string_view name) {
    const auto row = row_written(name);
    if (!row) return false;
    if (std::find(may_be.begin(), may_be.end(), *row) == may_be.end()) may_be.push_back(*row);
    return rows_[*row].option->takes_value();
  };
  int values = 0;  // in a row
  for (const std::string_view word : argv) {
    if (!looks_like_option(word) || word == "--") {
      // An option has one value at most, so the second word is an operand.
      if (++values == 2 && where == OptionsStand::before_operands) break;
    } else if (values = 0; word.starts_with("--")) {
      (void)takes_value(word.substr(0, word.find('=')));
    } else {
      for (const char letter : word.substr(1)) {
        const std::array name{'-', letter};
        if (takes_value({name.data(), name.size()})) break;
      }
    }
  }
  return may_be;
}

Operands Settings::parse(const std::vector<std::string>& argv, OptionsStand where) {
  CLI::App app{"", name_};
  app.set_help_flag();  // help is an option like others here, not an exception
  app.allow_extras();   // what is left over is judged below
  app.prefix_command(where == OptionsStand::before_operands);
  std::vector<std::pair<Row*, CLI::Option*>> told;
  for (const auto i : may_be_given(argv, where)) {
    Row* const row = &rows_[i];
    const Option& option = *row->option;
    const std::string names = names_for_cli11(option, (command_ & of::claims) != 0);
    if (option.takes_value() && option.bare.empty()) {
      told.emplace_back(row, app.add_option(names));
    } else if (option.takes_value()) {
      told.emplace_back(row, app.add_flag(fmt::format("{}{{{}}}", names, option.bare)));
    } else {
      told.emplace_back(row, app.add_flag(names)->disable_flag_override());
    }
    told.back().second->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  }
  Operands operands;
  try {
    std::vector<std::string> words;  // the last one first, as CLI11 takes them
    std::transform(argv.rbegin(), argv.rend(), std::back_inserter(words), to_cli11);
    app.parse(std::move(words));
  } catch (const CLI::ArgumentMismatch&) {
    operands.mistake = without_value(argv);
  } catch (const CLI::ParseError& error) {
    operands.mistake = base::printable(error.what(), 300);
  }
  for (const CLI::Option* each : app.parse_order()) {
    const auto found = std::find_if(told.begin(), told.end(),
                                    [&](const auto& pair) { return pair.second == each; });
    Row& row = *found->first;
    const bool is_flag = !row.option->takes_value();
    row.texts.push_back(is_flag ? "" : from_cli11(each->results().at(row.texts.size())));
    given_.push_back({row.option, row.texts.back()});
  }
  for (std::string& word : app.remaining()) {
    word = from_cli11(std::move(word));
    const bool is_option = looks_like_option(word) && !operands.ended &&
                           (operands.words.empty() || where == OptionsStand::anywhere);
    if (is_option && word == "--") {
      operands.ended = true;
    } else if (!is_option) {
      operands.words.push_back(std::move(word));
    } else if (operands.mistake.empty()) {
      operands.mistake = unknown_option(word);
    }
  }
  return operands;
}

std::string Settings::without_value(const std::vector<std::string>& argv) const {
  // The last word is the only one that can be without the next.
  const Option* last = argv.empty() ? nullptr : option_written(argv.back());
  if (last != nullptr && last->takes_value()) {
    return fmt::format("option '{}' needs a value: {}", argv.back(), last->argument);
  }
  for (const std::string& word : argv) {
    const auto equals = word.find('=');
    const Option* option = option_written(word.substr(0, equals));
    if (option != nullptr && equals != word.npos && !option->takes_value()) {
      return unknown_option(word);
    }
  }
  return "an option has no value";
}

void Settings::read_elsewhere() {
  for (const auto& doubt : doubtful_variables(os::environment(), command_)) {
    if (doubt.kind != VariableDoubt::Kind::command_line_only) continue;
    // In silence it would be taken for heeded; heeded, every rlock inside the job would heed it.
    throw UsageError{ExitCode::usage, fmt::format("{} has no effect: give {} on the command line",
                                                  doubt.name, doubt.option)};
  }
  const auto named = find("config");
  // A pipe can be read once, and the other program may be wanted for what it says.
  if (named && !os::loads_libraries() && !os::is_regular_file(named->text)) {
    (void)os::become_other_program();
  }
  config_ = read_config(named ? std::optional{named->text} : std::nullopt);
}

void Settings::warn_of_unread_variables() const {
  for (const auto& doubt : doubtful_variables(os::environment(), command_)) {
    if (doubt.kind == VariableDoubt::Kind::read_by_nobody) {
      base::log::notice("{} has no effect: give {} on the command line", doubt.name, doubt.option);
    }
    if (doubt.kind != VariableDoubt::Kind::unknown) continue;
    std::vector<std::string> variables;
    for (const Option& each : options) {
      if (each.from != From::command_line) variables.push_back(variable_of(each.name));
    }
    const auto meant = likely_meant(doubt.name, {variables.begin(), variables.end()});
    base::log::notice("unknown variable {}{}", base::printable(doubt.name, 100),
                      meant.empty() ? "" : fmt::format("; did you mean {}?", meant));
  }
}

const Settings::Row* Settings::row(std::string_view name) const {
  const auto found = std::find_if(rows_.begin(), rows_.end(),
                                  [&](const Row& each) { return each.option->name == name; });
  return found == rows_.end() ? nullptr : &*found;
}

std::optional<Setting> Settings::find(OptionName name) const {
  const Row* row = this->row(name.text());
  if (row == nullptr) return std::nullopt;
  const Option& option = *row->option;
  if (!row->texts.empty()) {
    return Setting{row->texts.back(), written(option), Setting::Origin::command_line};
  }
  if (option.from == From::command_line) return std::nullopt;
  const std::string variable = variable_of(option.name);
  if (const char* value = std::getenv(variable.c_str()); value != nullptr && *value != '\0') {
    return Setting{value, variable, Setting::Origin::environment};
  }
  return in_config(name);
}

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

Setting Settings::value(OptionName name) const {
  if (auto setting = find(name)) return *std::move(setting);
  const Row* row = this->row(name.text());
  const std::string_view standard = row == nullptr ? "" : row->option->standard;
  return {std::string{standard}, fmt::format("the default of {}", name.text()),
          Setting::Origin::standard};
}

std::optional<Setting> Settings::in_config(OptionName name) const {
  const auto entry = config_.find(std::string{name.text()});
  if (entry == config_.end()) return std::nullopt;
  return Setting{entry->second.text, entry->second.where + ": " + entry->first,
                 Setting::Origin::config, entry->second.file};
}

std::vector<std::string> Settings::all(OptionName name) const {
  const Row* row = this->row(name.text());
  return row == nullptr ? std::vector<std::string>{} : row->texts;
}

bool Settings::is_on(OptionName name) const {
  if (on_command_line(name)) return true;
  const auto setting = find(name);
  if (!setting) return false;
  const auto answer = yes_or_no(setting->text);
  if (!answer) throw not_accepted(*setting, "1, true, yes, on, 0, false, no or off");
  return *answer;
}

bool Settings::on_command_line(OptionName name) const {
  return times(name) > 0;
}

std::size_t Settings::times(OptionName name) const {
  const Row* row = this->row(name.text());
  return row == nullptr ? 0 : row->texts.size();
}

std::optional<bool> yes_or_no(std::string_view text) {
  static constexpr std::array<std::string_view, 4> yes{"1", "true", "yes", "on"};
  static constexpr std::array<std::string_view, 4> no{"0", "false", "no", "off"};
  if (std::find(yes.begin(), yes.end(), text) != yes.end()) return true;
  if (std::find(no.begin(), no.end(), text) != no.end()) return false;
  return std::nullopt;
}

base::Millis duration_of(const Setting& setting) {
  const auto length = base::parse_duration(setting.text);
  if (!length) throw not_accepted(setting, base::accepted_durations);
  return *length;
}

base::Millis wait_of(const Setting& setting) {
  if (setting.text == "forever") return base::Millis::max();
  const auto length = base::parse_duration(setting.text);
  if (!length) {
    throw not_accepted(setting, fmt::format("{}, or 'forever'", base::accepted_durations));
  }
  return *length;
}

unsigned number_of(const Setting& setting, unsigned least, unsigned most) {
  const auto number = base::number_in<unsigned>(setting.text);
  if (!number || *number < least || *number > most) {
    throw not_accepted(setting, fmt::format("a number from {} to {}", least, most));
  }
  return *number;
}

}  // namespace cmd
