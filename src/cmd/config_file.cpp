#include "cmd/config_file.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdlib>

#include "base/text.hpp"
#include "cmd/options.hpp"
#include "cmd/report.hpp"
#include "os/file.hpp"
#include "os/trusted_file.hpp"

namespace cmd {
namespace {

constexpr const char* system_file = "/etc/rlock.conf";

std::optional<std::string> users_file() {
  const auto under = [](const char* directory, const char* rest) -> std::optional<std::string> {
    if (directory == nullptr || *directory == '\0') return std::nullopt;
    return std::string{directory} + rest;
  };
  auto file = under(std::getenv("XDG_CONFIG_HOME"), "/rlock/rlock.conf");
  return file ? file : under(std::getenv("HOME"), "/.config/rlock/rlock.conf");
}

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view blanks = " \t\r";
  const auto first = text.find_first_not_of(blanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(blanks) - first + 1);
}

constexpr const char* hidden = "…";

bool is_like_a_name(std::string_view text) {
  return text.find_first_not_of("abcdefghijklmnopqrstuvwxyz-") == std::string_view::npos;
}

[[noreturn]] void refuse_name(const std::string& where, std::string_view name) {
  std::string small{name};
  for (char& c : small) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  const bool is_name = is_like_a_name(name) || may_stand_in_config(small);
  const auto meant = is_name ? likely_meant_in_config(small) : "";
  if (meant.empty()) {
    throw not_accepted(where, is_name ? name : hidden, names_in_config(), ExitCode::bad_config);
  }
  throw UsageError{ExitCode::bad_config,
                   fmt::format("{}: '{}' is not valid; did you mean '{}'?", where, name, meant)};
}

/// Values that are there from an earlier file stay.
void read_line(Config& config, const std::string& path, std::size_t file, std::size_t number,
               std::string_view line) {
  if (line.empty() || line.front() == '#') return;
  const std::string where = fmt::format("{}:{}", base::printable(path), number);
  // The system's calls would end a path or a host there, and messages would show all of it.
  if (line.find('\0') != std::string_view::npos) {
    throw not_accepted(where, hidden, "text without a NUL byte", ExitCode::bad_config);
  }
  const auto equals = line.find('=');
  // A file that holds nothing but a password may have been named by mistake: only what looks like a
  // name is repeated.
  if (equals == std::string_view::npos) {
    throw not_accepted(where, hidden, "'name = value' or a '# comment'", ExitCode::bad_config);
  }
  const std::string name{trimmed(line.substr(0, equals))};
  if (!may_stand_in_config(name)) refuse_name(where, name);
  const std::string text{trimmed(line.substr(equals + 1))};
  const auto [entry, is_new] = config.try_emplace(name, ConfigValue{text, where, file});
  if (is_new || entry->second.file != file) return;
  if (!may_repeat_in_config(name)) {
    throw UsageError{ExitCode::bad_config,
                     fmt::format("{}: '{}' is set twice; only {} may be repeated", where, name,
                                 names_to_repeat_in_config())};
  }
  entry->second.text += ' ' + text;
}

[[noreturn]] void refuse(const std::string& path, const os::Error& error) {
  throw UsageError{ExitCode::bad_config, fmt::format("cannot use the config file '{}': {}",
                                                     base::printable(path), error.text())};
}

/// Where privileges were dropped, HOME may still be that of another user: its file may be there or
/// not. Without it a server may be missing that all hosts share, so rlock does not go on.
[[noreturn]] void refuse_users(const std::string& path, const os::Error& error) {
  if (error.number != EACCES || os::is_regular_file(path)) refuse(path, error);
  const char* variable = "XDG_CONFIG_HOME";
  const char* place = std::getenv(variable);
  if (place == nullptr || *place == '\0') place = std::getenv(variable = "HOME");
  throw UsageError{
      ExitCode::bad_config,
      fmt::format("cannot look for a config file in {}={}: {}; correct {}, or name the file: "
                  "--config FILE (/dev/null: none)",
                  variable, base::shown_shell_word(place == nullptr ? "" : place), error.text(),
                  variable)};
}

}  // namespace

void read_config_text(Config& config, const std::string& path, std::string_view text,
                      std::size_t file) {
  constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";  // of editors on Windows
  if (text.starts_with(byte_order_mark)) text.remove_prefix(byte_order_mark.size());
  for (std::size_t number = 1; !text.empty(); ++number) {
    const auto end = std::min(text.find('\n'), text.size());
    read_line(config, path, file, number, trimmed(text.substr(0, end)));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

Config read_config(const std::optional<std::string>& named) {
  Config config;
  if (named) {
    const auto text = os::contents_of_ours(*named);
    if (!text) refuse(*named, text.error());
    read_config_text(config, *named, *text);
    return config;
  }
  std::size_t file = 0;
  for (const auto& path : {users_file(), std::optional<std::string>{system_file}}) {
    ++file;
    if (!path) continue;
    const auto text = os::contents_of_ours(*path);
    // Only a file that does not exist is passed over: one that we may not read, or do not trust,
    // may hold what somebody relies on.
    if (text) {
      read_config_text(config, *path, *text, file);
    } else if (text.error().number != ENOENT && text.error().number != ENOTDIR) {
      file == 1 ? refuse_users(*path, text.error()) : refuse(*path, text.error());
    }
  }
  return config;
}

}  // namespace cmd
