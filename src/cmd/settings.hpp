// The options of one command, wherever their values come from.
#pragma once

#include <CLI/CLI.hpp>
#include <deque>
#include <optional>
#include <string>
#include <string_view>

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

/// Declares options on a CLI11 app, which parses argv and writes the help; finds values in the
/// order command line, environment, config file.
class Settings {
 public:
  enum class Elsewhere { none, environment_and_config };

  /// `names` as CLI11 wants them ("-t,--ttl"); `meta` is what the value is called in the help.
  void option(CLI::App& app, const char* names, const char* meta, const char* help,
              Elsewhere elsewhere = Elsewhere::none);
  void flag(CLI::App& app, const char* names, const char* help,
            Elsewhere elsewhere = Elsewhere::none);

  /// After parsing: reads the config file, too. Throws Refusal.
  void read_elsewhere();

  [[nodiscard]] std::optional<Setting> find(std::string_view long_name) const;
  /// Given on the command line, or on elsewhere. Throws Refusal for a value that is no yes or no.
  [[nodiscard]] bool is_on(std::string_view long_name) const;
  [[nodiscard]] bool on_command_line(std::string_view long_name) const;

  static bool may_stand_in_config(const std::string& name);
  static std::string config_names();

 private:
  struct Declared {
    std::string name;  // the long one, without dashes; or the short one where there is no long one
    std::string shown;
    CLI::Option* option;
    std::string text;
    bool set = false;
    Elsewhere elsewhere;
  };
  Declared& declare(const char* names, Elsewhere elsewhere);
  [[nodiscard]] const Declared* declared(std::string_view name) const;

  std::deque<Declared> declared_;  // a deque: CLI11 keeps pointers into it
  Config config_;
};

}  // namespace cmd
