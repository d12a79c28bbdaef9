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

/// As CLI11 wants them: "-t,--ttl".
std::string names_for_cli11(const Option& option) {
  if (!option.has_long_form()) return written(option);
  return option.letter == 0 ? written(option)
                            : fmt::format("-{},{}", option.letter, written(option));
}

const FlockOption* named_by_flock(std::string_view word) {
  const auto* found = std::find_if(flock_options.begin(), flock_options.end(),
                                   [&](const auto& each) { return each.written == word; });
  return found == flock_options.end() ? nullptr : found;
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

const Option* Settings::option_written(std::string_view word) const {
  for (const Row& each : rows_) {
    const bool is_it = word.starts_with("--")
                           ? each.option->has_long_form() && each.option->name == word.substr(2)
                           : word.size() == 2 && each.option->letter == word[1];
    if (is_it) return each.option;
  }
  const FlockOption* of_flock = named_by_flock(word);
  const Row* row = of_flock == nullptr ? nullptr : this->row(of_flock->ours);
  // Only a run and `acquire` are what flock does.
  return row == nullptr || (command_ & of::claims) == 0 ? nullptr : row->option;
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

void Settings::parse(const std::vector<std::string>& words,
                     const std::vector<const Option*>& meant) {
  CLI::App app{"", name_};
  app.set_help_flag();  // help is an option like others here, not an exception
  // Telling CLI11 of an option costs 10,000 instructions, a fifth of all that a run takes if all of
  // them were told: so only of those that there are.
  std::vector<std::pair<Row*, CLI::Option*>> told;
  for (Row& each : rows_) {
    const Option& option = *each.option;
    if (std::find(meant.begin(), meant.end(), &option) == meant.end()) continue;
    if (!option.takes_value()) {
      told.emplace_back(&each, app.add_flag(names_for_cli11(option), each.set));
      continue;
    }
    // As raw results, because CLI11 would read "[a,b]" or "" as a list if it were one.
    const auto keep = [&each](const CLI::results_t& texts) {
      each.texts = texts;
      return true;
    };
    told.emplace_back(&each, app.add_option(names_for_cli11(option), keep));
    told.back()
        .second->type_name(std::string{option.argument})
        ->multi_option_policy(option.repeated ? CLI::MultiOptionPolicy::TakeAll
                                              : CLI::MultiOptionPolicy::TakeLast);
  }
  try {
    app.parse(std::vector<std::string>{words.rbegin(), words.rend()});
  } catch (const CLI::ExtrasError&) {
    const auto unknown = app.remaining();
    throw UsageError{ExitCode::usage, unknown_option(unknown.empty() ? "" : unknown.front())};
  } catch (const CLI::ArgumentMismatch&) {
    // The last word is the only one that can be without the next.
    const Option* last = words.empty() ? nullptr : option_written(words.back());
    if (last == nullptr) throw UsageError{ExitCode::usage, "an option has no value"};
    throw UsageError{ExitCode::usage,
                     fmt::format("option '{}' needs a value: {}", words.back(), last->argument)};
  } catch (const CLI::ParseError& error) {
    throw UsageError{ExitCode::usage, base::printable(error.what(), 300)};
  }
  for (const auto& [each, option] : told) each->given = option->count();
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
  if (row->given > 0) {
    return Setting{option.takes_value() ? row->texts.back() : "", written(option),
                   Setting::Origin::command_line};
  }
  if (option.from == From::command_line) return std::nullopt;
  const std::string variable = variable_of(option.name);
  if (const char* value = std::getenv(variable.c_str()); value != nullptr && *value != '\0') {
    return Setting{value, variable, Setting::Origin::environment};
  }
  return in_config(name);
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
  return row == nullptr ? 0 : row->given;
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
