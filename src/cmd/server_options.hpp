// What every command takes: which server, which password, how much to say.
#pragma once

#include <optional>
#include <string>

#include "cmd/settings.hpp"
#include "store/spec.hpp"

namespace cmd {

/// The server somebody chose, or the default one.
struct ServerChoice {
  store::ServerSpec spec;
  std::string shown;                    // for messages: never holds a secret
  std::optional<std::string> exported;  // RLOCK_SERVER for the job, if one was chosen
};

void declare_server_options(Settings& settings);
/// Also sets the level of the log. Throws Refusal.
ServerChoice understand_server_options(const Settings& settings);

}  // namespace cmd
