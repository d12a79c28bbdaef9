#include "cmd/settings.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdlib>

namespace cmd {
namespace {

constexpr std::array<std::string_view, 10> in_config{
    "server", "password-file", "ttl",   "wait",  "conflict-exit-code",
    "grace",  "on-lost",       "label", "quiet", "verbose"};

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
  return std::find(in_config.begin(), in_config.end(), name) != in_config.end();
}

std::string Settings::config_names() {
  return fmt::format("{}", fmt::join(in_config, ", "));
}

Settings::Declared& Settings::declare(const char* names, Elsewhere elsewhere) {
  const std::string_view all{names};
  std::string shown{all.substr(all.rfind(',') + 1)};
  std::string name = shown.substr(shown.find_first_not_of('-'));
  declared_.push_back({std::move(name), std::move(shown), nullptr, {}, false, elsewhere});
  return declared_.back();
}

void Settings::option(CLI::App& app, const char* names, const char* meta, const char* help,
                      Elsewhere elsewhere) {
  Declared& declared = declare(names, elsewhere);
  declared.option = app.add_option(names, declared.text, help)->type_name(meta)->type_size(1);
}

void Settings::flag(CLI::App& app, const char* names, const char* help, Elsewhere elsewhere) {
  Declared& declared = declare(names, elsewhere);
  declared.option = app.add_flag(names, declared.set, help);
}

void Settings::read_elsewhere() {
  const auto named = find("config");
  config_ = read_config(named ? std::optional{named->text} : std::nullopt);
}

const Settings::Declared* Settings::declared(std::string_view name) const {
  const auto found = std::find_if(declared_.begin(), declared_.end(),
                                  [&](const Declared& each) { return each.name == name; });
  return found == declared_.end() ? nullptr : &*found;
}

bool Settings::on_command_line(std::string_view long_name) const {
  const Declared* declared = this->declared(long_name);
  return declared != nullptr && declared->option->count() > 0;
}

std::optional<Setting> Settings::find(std::string_view long_name) const {
  const Declared* declared = this->declared(long_name);
  if (declared == nullptr) return std::nullopt;
  if (declared->option->count() > 0) {
    return Setting{declared->text, declared->shown, Setting::Origin::command_line};
  }
  if (declared->elsewhere == Elsewhere::none) return std::nullopt;
  const std::string variable = environment_name(long_name);
  if (const char* value = std::getenv(variable.c_str()); value != nullptr && *value != '\0') {
    return Setting{value, variable, Setting::Origin::environment};
  }
  const auto entry = config_.find(declared->name);
  if (entry == config_.end()) return std::nullopt;
  return Setting{entry->second.text, entry->second.file + ": " + entry->first,
                 Setting::Origin::config};
}

bool Settings::is_on(std::string_view long_name) const {
  if (on_command_line(long_name)) return true;
  const auto setting = find(long_name);
  return setting && yes_or_no(*setting);
}

}  // namespace cmd
