#include "cmd/options.hpp"

#include <fmt/format.h>

#include <array>
#include <cctype>
#include <numeric>

#include "base/text.hpp"
#include "hold/environment.hpp"

namespace cmd {
namespace {

const char* heading(Group group) {
  switch (group) {
    case Group::lock: return "Lock";
    case Group::waiting: return "Waiting";
    case Group::job: return "Job";
    case Group::result: return "Result";
    case Group::server: return "Server";
    case Group::general: break;
  }
  return "General";
}

std::string help_of(const Option& option) {
  constexpr char no_break = '\1';
  constexpr std::size_t column = 30;
  std::string line = option.letter != 0 ? fmt::format("  -{}", option.letter) : "    ";
  if (option.has_long_form()) {
    line += fmt::format("{}--{}", option.letter != 0 ? ", " : "  ", option.name);
  }
  if (option.takes_value()) {
    line += option.bare.empty() ? fmt::format(" {}", option.argument)
                                : fmt::format("[={}]", option.argument);
  }
  if (line.size() + 2 > column) {
    line += "\n" + std::string(column, ' ');
  } else {
    line.resize(column, ' ');
  }
  std::string text{option.help};
  if (!option.standard.empty()) {
    // One word for wrapped(): a default is not broken.
    std::string standard = fmt::format("(default {})", option.standard);
    std::replace(standard.begin(), standard.end(), ' ', no_break);
    text += ' ' + standard;
  }
  text = wrapped(text, column);
  std::replace(text.begin(), text.end(), no_break, ' ');
  return line + text + "\n";
}

/// How many letters must be typed, dropped, changed or swapped to make one of the other
/// (Damerau-Levenshtein, without touching a pair twice).
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::vector<std::size_t>> steps(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i) steps[i][0] = i;
  std::iota(steps[0].begin(), steps[0].end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t changed = steps[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      steps[i][j] = std::min({steps[i - 1][j] + 1, steps[i][j - 1] + 1, changed});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) steps[i][j] = std::min(steps[i][j], steps[i - 2][j - 2] + 1);
    }
  }
  return steps[a.size()][b.size()];
}

/// Those that may stand in a config file and `are_meant`, each once.
template <class Meant>
std::vector<std::string_view> config_names(const Meant& are_meant) {
  std::vector<std::string_view> names;
  for (const Option& each : options) {
    const bool told = std::find(names.begin(), names.end(), each.name) != names.end();
    if (each.from == From::anywhere && are_meant(each) && !told) names.push_back(each.name);
  }
  return names;
}

bool is_any(const Option& /*option*/) {
  return true;
}

}  // namespace

std::vector<const Option*> options_of(Commands commands) {
  std::vector<const Option*> rows;
  rows.reserve(options.size());
  for (const Option& each : options) {
    if ((each.commands & commands) != 0) rows.push_back(&each);
  }
  return rows;
}

std::string written(const Option& option) {
  return fmt::format("{}{}", option.has_long_form() ? "--" : "-", option.name);
}

namespace {

char letter_of_variable(char c) {
  return c == '-' ? '_' : static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
}

/// Whether `variable` is variable_of(name). Every run asks for every option, so nothing is built.
bool is_variable_of(std::string_view variable, std::string_view name) {
  constexpr std::string_view prefix = "RLOCK_";
  if (!variable.starts_with(prefix)) return false;
  variable.remove_prefix(prefix.size());
  return std::equal(variable.begin(), variable.end(), name.begin(), name.end(),
                    [](char seen, char c) { return seen == letter_of_variable(c); });
}

}  // namespace

std::string variable_of(std::string_view name) {
  std::string variable = "RLOCK_";
  for (const char c : name) variable += letter_of_variable(c);
  return variable;
}

bool may_stand_in_config(std::string_view name) {
  return std::any_of(options.begin(), options.end(), [&](const Option& each) {
    return each.name == name && each.from == From::anywhere;
  });
}

bool may_repeat_in_config(std::string_view name) {
  return std::any_of(options.begin(), options.end(), [&](const Option& each) {
    return each.name == name && each.from == From::anywhere && each.repeated;
  });
}

std::string names_in_config() {
  return fmt::format("{}", fmt::join(config_names(is_any), ", "));
}

std::string_view likely_meant_in_config(std::string_view seen) {
  return likely_meant(seen, config_names(is_any));
}

std::string names_to_repeat_in_config() {
  const auto names = config_names([](const Option& each) { return each.repeated; });
  return fmt::format("{}", fmt::join(names, ", "));
}

namespace {

bool is_set(std::string_view entry, std::string_view variable) {
  return entry.starts_with(variable) && entry.size() > variable.size();
}

/// Whether a user may mistake the variable for an option. A step does read RLOCK_KEY.
bool is_of_one_run(std::string_view name, Commands command) {
  if (name == "RLOCK_KEY") return (command & of::steps) == 0;
  return name == "RLOCK_SLOT";
}

}  // namespace

std::vector<VariableDoubt> doubtful_variables(const std::vector<std::string_view>& environment,
                                              Commands command) {
  using Kind = VariableDoubt::Kind;
  std::vector<VariableDoubt> doubts;
  // Inside a job or between steps, all of these variables come from rlock.
  const bool inside = std::any_of(environment.begin(), environment.end(), [](auto entry) {
    return is_set(entry, "RLOCK_HELD=") || is_set(entry, "RLOCK_TOKEN=");
  });
  for (const auto entry : environment) {
    const auto end = entry.find('=');
    if (!entry.starts_with("RLOCK_") || end == entry.npos || end + 1 == entry.size()) continue;
    const auto name = entry.substr(0, end);
    // Variables for a job, and the name that scripts give the program, are no mistakes.
    const auto& told = hold::job_variables;
    const bool is_told = std::find(told.begin(), told.end(), name) != told.end();
    if (name == "RLOCK_BIN" || (is_told && (inside || !is_of_one_run(name, command)))) continue;
    const Option* known = nullptr;
    bool read_by_some = false;
    bool ours = false;
    for (const Option& each : options) {
      if (!is_variable_of(name, each.name)) continue;
      known = &each;
      read_by_some = read_by_some || each.from != From::command_line;
      ours = ours || (each.commands & command) != 0;
    }
    if (known == nullptr) {
      doubts.push_back({Kind::unknown, std::string{name}});
    } else if (!read_by_some) {
      const auto kind = ours ? Kind::command_line_only : Kind::read_by_nobody;
      doubts.push_back({kind, std::string{name}, written(*known)});
    }
  }
  return doubts;
}

namespace {

bool is_common(Group group) {
  return group == Group::server || group == Group::general;
}

}  // namespace

std::string help_of_common() {
  std::string text;
  for (const Option* each : options_of(of::list)) {
    if (is_common(each->group)) text += help_of(*each);
  }
  return text;
}

std::string help_of_option(std::string_view name) {
  const auto* found = std::find_if(options.begin(), options.end(),
                                   [&](const Option& each) { return each.name == name; });
  return found == options.end() || !found->has_long_form() ? "" : help_of(*found);
}

std::string help_of(Commands command) {
  const auto rows = options_of(command);
  const bool many = (command & of::claims) != 0;
  const bool names_common = command != of::run && (command & of::all) != 0;
  std::string text;
  for (const Group group :
       {Group::lock, Group::waiting, Group::job, Group::result, Group::server, Group::general}) {
    std::string lines;
    for (const Option* each : rows) {
      if (each->group == group) lines += help_of(*each);
    }
    if (lines.empty() || (names_common && is_common(group))) continue;
    if (many) {
      text += fmt::format("{}{}:\n", text.empty() ? "" : "\n", heading(group));
    } else if (text.empty()) {
      text += "Options:\n";
    }
    text += lines;
  }
  if (!names_common) return text;
  return text + (text.empty() ? "" : "\n") +
         "Options of every command: -S URL, -q, -v, -h, and those of rlock help options\n";
}

std::string wrapped(std::string_view text, std::size_t column, std::size_t width) {
  const std::size_t room = width > column ? width - column : 0;
  const auto lines = base::lines_within(text, room, base::LongWord::whole);
  return fmt::format("{}", fmt::join(lines, "\n" + std::string(column, ' ')));
}

std::string_view likely_meant(std::string_view seen, const std::vector<std::string_view>& known) {
  // The beginning of one word, as getopt_long(3) would take it.
  std::vector<std::string_view> longer;
  for (const auto each : known) {
    if (seen.size() > 2 && each.starts_with(seen)) longer.push_back(each);
  }
  if (longer.size() == 1) return longer.front();
  // Of a short word two letters are most of it.
  const std::size_t most = seen.size() < 5 ? 1 : 2;
  std::string_view best;
  std::size_t least = most + 1;
  for (const auto each : known) {
    if (each.size() > seen.size() + most || seen.size() > each.size() + most) continue;
    const std::size_t steps = distance(seen, each);
    if (steps < least) {
      least = steps;
      best = each;
    }
  }
  return best;
}

}  // namespace cmd
