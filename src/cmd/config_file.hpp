// Config files: "name = value" lines named like the long options.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace cmd {

struct ConfigValue {
  std::string text;
  std::string where;     // "/etc/rlock.conf:3"
  std::size_t file = 0;  // of several files; the lower one goes before
};
using Config = std::map<std::string, ConfigValue>;

/// The file that was named, which must exist; otherwise the user's
/// ($XDG_CONFIG_HOME/rlock/rlock.conf, ~/.config/rlock/rlock.conf) before the system's
/// (/etc/rlock.conf), where they exist. Throws UsageError (78).
Config read_config(const std::optional<std::string>& named);
/// The lines of one file, whose path is for messages. A value that is in `config` already stays: it
/// comes from a file that goes before. Throws UsageError (78).
void read_config_text(Config& config, const std::string& path, std::string_view text,
                      std::size_t file = 0);

}  // namespace cmd
