// What every command takes: which server, which password, how much to say.
#pragma once

#include <optional>
#include <string>

#include "cmd/settings.hpp"
#include "os/poll.hpp"
#include "store/backend.hpp"
#include "store/lock_store.hpp"

namespace cmd {

/// The server that was chosen, or the default one.
struct ServerChoice {
  store::ServerSpec spec;
  std::string shown;                    // for messages: never holds a secret
  std::optional<std::string> exported;  // RLOCK_SERVER for the job, if one was chosen
  base::Millis longest_answer{5'000};

  /// For one question of a command that waits for no lock.
  [[nodiscard]] os::CallLimit limit() const {
    return {base::Deadline::after(base::now(), longest_answer)};
  }
};

/// Also sets the level of the log. Throws UsageError.
ServerChoice resolve_server(const Settings& settings);
/// Before locks are taken: each host has a default server of its own, which a job that is started
/// on several of them does not want. Where there is a terminal, a person sees what happens.
void warn_of_default_server(const ServerChoice& server);
/// Throws UsageError if the option that needs it cannot be had with that kind of server.
void require(const ServerChoice& server, store::Feature feature, std::string_view option);

}  // namespace cmd
