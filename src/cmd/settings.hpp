// The options of one command, wherever their values come from.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cmd/config_file.hpp"
#include "cmd/refusal.hpp"

namespace cmd {

/// A value, where it comes from, and what to call that in an error: "--ttl", "RLOCK_TTL" or
/// "/etc/rlock.conf: ttl".
struct Setting {
  enum class Origin { command_line, environment, config };
  std::string text;
  std::string source;
  Origin origin;
};

/// "--ttl: saw '5x', accepted: a duration …"; a config file's mistake has an exit code of its own.
Refusal not_accepted(const Setting& setting, std::string_view accepted);

/// Knows a command's options; finds their values in the order command line, environment, config
/// file. The command line itself is parsed by CLI11.
class Settings {
 public:
  enum class Elsewhere { none, environment_and_config };
  static constexpr Elsewhere anywhere = Elsewhere::environment_and_config;

  /// `names` as CLI11 wants them ("-t,--ttl"); `meta` is what the value is called in the help.
  void option(const char* names, const char* meta, const char* help,
              Elsewhere elsewhere = Elsewhere::none);
  /// One that may be given several times on the command line.
  void repeated(const char* names, const char* meta, const char* help,
                Elsewhere elsewhere = Elsewhere::none);
  void flag(const char* names, const char* help, Elsewhere elsewhere = Elsewhere::none);

  /// Whether "-t" or "--ttl" is an option with a value; false if it is none at all.
  [[nodiscard]] bool takes_value(std::string_view name) const;
  /// One line for each option.
  [[nodiscard]] std::string help() const;

  /// Parses the words of a command line that are options or their values. Throws Refusal.
  void parse(const std::string& command, const std::vector<std::string>& words);
  /// After parsing: reads the config file. Throws Refusal.
  void read_elsewhere();

  [[nodiscard]] std::optional<Setting> find(std::string_view long_name) const;
  /// The config file's value, whatever stands before it.
  [[nodiscard]] std::optional<Setting> in_config(std::string_view long_name) const;
  /// Every value of a repeated option, as given.
  [[nodiscard]] const std::vector<std::string>& all(std::string_view long_name) const;
  /// Given on the command line, or on elsewhere. Throws Refusal for a value that is no yes or no.
  [[nodiscard]] bool is_on(std::string_view long_name) const;
  [[nodiscard]] bool on_command_line(std::string_view name) const { return times_given(name) > 0; }
  [[nodiscard]] std::size_t times_given(std::string_view name) const;

  static bool may_stand_in_config(const std::string& name);
  static std::string config_names();

 private:
  struct Declared {
    const char* names;
    std::string_view short_name;  // with its dash; empty if there is none
    std::string_view long_name;   // with its dashes; empty if there is none
    const char* meta;             // null for a flag
    const char* help;
    Elsewhere elsewhere;
    bool is_repeated = false;
    std::vector<std::string> texts{};
    bool set = false;
    std::size_t given = 0;

    [[nodiscard]] std::string_view shown() const {
      return long_name.empty() ? short_name : long_name;
    }
    /// As find() and config files call it.
    [[nodiscard]] std::string_view name() const {
      return shown().substr(shown().find_first_not_of('-'));
    }
    [[nodiscard]] bool may_be_in(const std::string& word) const;
  };
  void declare(const char* names, const char* meta, const char* help, Elsewhere elsewhere);
  [[nodiscard]] const Declared* declared(std::string_view name) const;

  std::vector<Declared> declared_;
  Config config_;
};

}  // namespace cmd
