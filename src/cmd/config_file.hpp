// Config files: "name = value" lines named like the long options.
#pragma once

#include <map>
#include <optional>
#include <string>

namespace cmd {

struct ConfigValue {
  std::string text;
  std::string file;
};
using Config = std::map<std::string, ConfigValue>;

/// The file that was named, which must exist; otherwise the user's
/// ($XDG_CONFIG_HOME/rlock/rlock.conf, ~/.config/rlock/rlock.conf) before the system's
/// (/etc/rlock.conf), where they exist. Throws Refusal (78).
Config read_config(const std::optional<std::string>& named);

}  // namespace cmd
