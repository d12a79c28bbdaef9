#include "cmd/settings.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cctype>
#include <cstdlib>

#include "base/text.hpp"

namespace cmd {
namespace {

constexpr std::array<std::string_view, 14> allowed_in_config{
    "server",   "password-file", "ttl",      "wait",        "conflict-exit-code",
    "grace",    "on-lost",       "min-hold", "max-waiters", "sync-replicas",
    "wait-all", "label",         "quiet",    "verbose"};

std::string environment_name(std::string_view long_name) {
  std::string name = "RLOCK_";
  for (const char c : long_name) {
    name += c == '-' ? '_' : static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  }
  return name;
}

bool yes_or_no(const Setting& setting) {
  static constexpr std::array<std::string_view, 4> yes{"1", "true", "yes", "on"};
  static constexpr std::array<std::string_view, 4> no{"0", "false", "no", "off"};
  if (std::find(yes.begin(), yes.end(), setting.text) != yes.end()) return true;
  if (std::find(no.begin(), no.end(), setting.text) != no.end()) return false;
  throw not_accepted(setting, "1, true, yes, on, 0, false, no or off");
}

}  // namespace

Refusal not_accepted(const Setting& setting, std::string_view accepted) {
  return not_accepted(
      setting.source, setting.text, accepted,
      setting.origin == Setting::Origin::config ? ExitCode::bad_config : ExitCode::usage);
}

bool Settings::may_stand_in_config(const std::string& name) {
  return std::find(allowed_in_config.begin(), allowed_in_config.end(), name) !=
         allowed_in_config.end();
}

std::string Settings::config_names() {
  return fmt::format("{}", fmt::join(allowed_in_config, ", "));
}

void Settings::declare(const char* names, const char* meta, const char* help, Elsewhere elsewhere) {
  const std::string_view all{names};
  const auto comma = all.find(',');
  const bool has_long = all.find("--") != std::string_view::npos;
  const std::string_view last = comma == std::string_view::npos ? all : all.substr(comma + 1);
  declared_.push_back({names, all.starts_with("--") ? std::string_view{} : all.substr(0, comma),
                       has_long ? last : std::string_view{}, meta, help, elsewhere});
}

void Settings::option(const char* names, const char* meta, const char* help, Elsewhere elsewhere) {
  declare(names, meta, help, elsewhere);
}

void Settings::repeated(const char* names, const char* meta, const char* help,
                        Elsewhere elsewhere) {
  declare(names, meta, help, elsewhere);
  declared_.back().is_repeated = true;
}

void Settings::flag(const char* names, const char* help, Elsewhere elsewhere) {
  declare(names, nullptr, help, elsewhere);
}

bool Settings::takes_value(std::string_view name) const {
  return std::any_of(declared_.begin(), declared_.end(), [&](const Declared& each) {
    return each.meta != nullptr && (each.short_name == name || each.long_name == name);
  });
}

std::string Settings::help() const {
  std::string text;
  for (const Declared& each : declared_) {
    const char* gap = each.short_name.empty() || each.long_name.empty() ? "" : " ";
    const std::string names = fmt::format("{}{}{}{}{}", each.short_name, gap, each.long_name,
                                          each.meta ? " " : "", each.meta ? each.meta : "");
    text += fmt::format("  {:<30} {}\n", names, each.help);
  }
  return text;
}

bool Settings::Declared::may_be_in(const std::string& word) const {
  if (word.starts_with("--")) return word == long_name;
  return word.starts_with('-') && !short_name.empty() && word.find(short_name[1]) != word.npos;
}

void Settings::parse(const std::string& command, const std::vector<std::string>& words) {
  CLI::App app{"", command};
  app.set_help_flag();  // help is an option like others here, not an exception
  // Telling CLI11 of an option costs 10,000 instructions, a fifth of all that a run takes if all of
  // them were told: so only of those that a word can mean.
  std::vector<std::pair<Declared*, CLI::Option*>> told;
  for (Declared& each : declared_) {
    const auto meant = [&](const std::string& word) { return each.may_be_in(word); };
    if (std::none_of(words.begin(), words.end(), meant)) continue;
    if (each.meta == nullptr) {
      told.emplace_back(&each, app.add_flag(each.names, each.set));
      continue;
    }
    // As raw results, because CLI11 would read "[a,b]" or "" as a list if it were one.
    const auto keep = [&each](const CLI::results_t& texts) {
      each.texts = texts;
      return true;
    };
    told.emplace_back(&each, app.add_option(each.names, keep));
    told.back().second->type_name(each.meta)->multi_option_policy(
        each.is_repeated ? CLI::MultiOptionPolicy::TakeAll : CLI::MultiOptionPolicy::TakeLast);
  }
  try {
    app.parse(std::vector<std::string>{words.rbegin(), words.rend()});
  } catch (const CLI::ExtrasError&) {
    const auto unknown = app.remaining();
    throw Refusal{ExitCode::usage, fmt::format("unknown option '{}'; accepted: see rlock{} --help",
                                               shown_option(unknown.empty() ? "" : unknown.front()),
                                               command.empty() ? "" : " " + command)};
  } catch (const CLI::ParseError& error) {
    throw Refusal{ExitCode::usage, base::printable(error.what(), 300)};
  }
  for (const auto& [each, option] : told) each->given = option->count();
}

void Settings::read_elsewhere() {
  const auto named = find("config");
  config_ = read_config(named ? std::optional{named->text} : std::nullopt);
}

const Settings::Declared* Settings::declared(std::string_view name) const {
  const auto found = std::find_if(declared_.begin(), declared_.end(),
                                  [&](const Declared& each) { return each.name() == name; });
  return found == declared_.end() ? nullptr : &*found;
}

std::size_t Settings::times_given(std::string_view name) const {
  const Declared* declared = this->declared(name);
  return declared == nullptr ? 0 : declared->given;
}

std::optional<Setting> Settings::find(std::string_view long_name) const {
  const Declared* declared = this->declared(long_name);
  if (declared == nullptr) return std::nullopt;
  if (declared->given > 0) {
    return Setting{declared->texts.back(), std::string{declared->shown()},
                   Setting::Origin::command_line};
  }
  if (declared->elsewhere == Elsewhere::none) return std::nullopt;
  const std::string variable = environment_name(long_name);
  if (const char* value = std::getenv(variable.c_str()); value != nullptr && *value != '\0') {
    return Setting{value, variable, Setting::Origin::environment};
  }
  return in_config(long_name);
}

std::optional<Setting> Settings::in_config(std::string_view long_name) const {
  const auto entry = config_.find(std::string{long_name});
  if (entry == config_.end()) return std::nullopt;
  return Setting{entry->second.text, entry->second.file + ": " + entry->first,
                 Setting::Origin::config};
}

const std::vector<std::string>& Settings::all(std::string_view long_name) const {
  return declared(long_name)->texts;
}

bool Settings::is_on(std::string_view long_name) const {
  if (on_command_line(long_name)) return true;
  const auto setting = find(long_name);
  return setting && yes_or_no(*setting);
}

}  // namespace cmd
