#include "cmd/config_file.hpp"

#include <CLI/CLI.hpp>
#include <cstdlib>
#include <fstream>
#include <vector>

#include "base/text.hpp"
#include "cmd/refusal.hpp"
#include "cmd/settings.hpp"
#include "os/check.hpp"
#include "os/file.hpp"

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

/// Values that are already there stay: they come from a file that goes before.
void read_into(Config& config, const std::string& path, std::istream& file) {
  std::vector<CLI::ConfigItem> items;
  try {
    items = CLI::ConfigINI{}.from_config(file);
  } catch (const CLI::Error& error) {
    throw Refusal{ExitCode::bad_config,
                  fmt::format("{}: {}", path, base::printable(error.what()))};
  }
  for (const CLI::ConfigItem& item : items) {
    const std::string name = item.fullname();
    if (!Settings::may_stand_in_config(name)) {
      throw not_accepted(path, name, Settings::config_names(), ExitCode::bad_config);
    }
    if (item.inputs.size() != 1) {
      throw Refusal{ExitCode::bad_config, fmt::format("{}: {}: one value is wanted", path, name)};
    }
    config.try_emplace(name, ConfigValue{item.inputs.front(), path});
  }
}

}  // namespace

Config read_config(const std::optional<std::string>& named) {
  Config config;
  if (named) {
    std::ifstream file{*named};
    // A directory opens well and then cannot be read.
    if (!file || file.peek() == std::ifstream::traits_type::eof()) {
      if (!file.eof()) {
        throw Refusal{ExitCode::bad_config, fmt::format("cannot read the config file '{}': {}",
                                                        base::printable(*named),
                                                        os::describe(errno))};
      }
    }
    read_into(config, *named, file);
    return config;
  }
  for (const auto& path : {users_file(), std::optional<std::string>{system_file}}) {
    if (!path || !os::is_readable_file(*path)) continue;
    std::ifstream file{*path};
    read_into(config, *path, file);
  }
  return config;
}

}  // namespace cmd
