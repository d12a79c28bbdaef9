// The options of one command with their values, from the command line, the environment or a config
// file, in this order.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "cmd/config_file.hpp"
#include "cmd/options.hpp"
#include "cmd/report.hpp"

namespace cmd {

/// A value, where it comes from, and what to call that in an error: "--ttl", "RLOCK_TTL" or
/// "/etc/rlock.conf:3: ttl".
struct Setting {
  enum class Origin { command_line, environment, config, standard };
  std::string text;
  std::string source;
  Origin origin;
  std::size_t file = 0;  // of several config files; the lower one goes before

  [[nodiscard]] bool goes_before(const Setting& other) const {
    return std::pair{origin, file} < std::pair{other.origin, other.file};
  }
};

/// Of a mistake in it: one in a config file has an exit code of its own.
ExitCode exit_code_for(const Setting& mistaken);
/// As the other one, with that exit code.
UsageError not_accepted(const Setting& setting, std::string_view expected);

/// Where options may stand. A run's operands are a command, whose options are its own business.
enum class OptionsStand { before_operands, anywhere };

/// The words of a command line besides options.
struct Operands {
  std::vector<std::string> words{};  // byte for byte
  bool ended = false;     // a `--` said that nothing else is an option; that one is not among them
  std::string mistake{};  // unless empty: what is wrong with the options, the first mistake
};

class Settings {
 public:
  /// The options of a command of that name; "" is the run.
  Settings(std::string name, Commands command);

  /// "-t" or "--ttl", or what flock(1) calls it: nullptr if the command has no such option.
  [[nodiscard]] const Option* option_written(std::string_view word) const;

  /// Reads the options of the command line, once. Throws nothing: a mistake stands in the answer.
  Operands parse(const std::vector<std::string>& argv, OptionsStand where);
  /// After parsing: reads the config file. Throws UsageError; also for a RLOCK_* variable that is
  /// named after an option which only the command line has.
  void read_elsewhere();
  /// Says on stderr which RLOCK_* variables nothing reads.
  void warn_of_unread_variables() const;

  /// Nothing if it was not set anywhere.
  [[nodiscard]] std::optional<Setting> find(OptionName name) const;
  /// The default of the table, if it was not set anywhere.
  [[nodiscard]] Setting value(OptionName name) const;
  /// The config file's, whatever goes before it.
  [[nodiscard]] std::optional<Setting> in_config(OptionName name) const;
  /// Every value of a repeated option on the command line.
  [[nodiscard]] std::vector<std::string> all(OptionName name) const;
  /// A flag that was given, or that a variable or a file turns on. Throws UsageError for a value
  /// that is neither yes nor no.
  [[nodiscard]] bool is_on(OptionName name) const;
  [[nodiscard]] bool on_command_line(OptionName name) const;
  /// On the command line.
  [[nodiscard]] std::size_t times(OptionName name) const;

  /// An option on the command line; the value of a flag is empty.
  struct Given {
    const Option* option;
    std::string value;
  };
  /// All of them, in the order of the command line.
  [[nodiscard]] const std::vector<Given>& given() const { return given_; }

 private:
  struct Row {
    const Option* option;
    std::vector<std::string> texts{};  // a value each time that it was given
  };
  [[nodiscard]] const Row* row(std::string_view name) const;
  [[nodiscard]] std::optional<std::size_t> row_written(std::string_view word) const;
  /// The rows that CLI11 has to be told of, found at a glance: the command line has no other.
  [[nodiscard]] std::vector<std::size_t> may_be_given(const std::vector<std::string>& argv,
                                                      OptionsStand where) const;
  [[nodiscard]] std::string unknown_option(const std::string& word) const;
  /// The mistake if CLI11 found no value, or one too many.
  [[nodiscard]] std::string without_value(const std::vector<std::string>& argv) const;

  std::string name_;
  Commands command_;
  std::vector<Row> rows_;
  std::vector<Given> given_;
  Config config_;
};

/// A variable of the environment; empty if it is not set.
std::string variable(const char* name);

/// How values are read that several commands have. All throw UsageError.
/// 1, true, yes, on: true; 0, false, no, off: false; nothing for any other.
std::optional<bool> yes_or_no(std::string_view text);
base::Millis duration_of(const Setting& setting);
/// Also "forever": Millis::max().
base::Millis wait_of(const Setting& setting);
unsigned number_of(const Setting& setting, unsigned least, unsigned most);

}  // namespace cmd
