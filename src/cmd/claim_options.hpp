// Which locks, how, and for how long: what a run and `acquire` ask for alike.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "cmd/server_options.hpp"
#include "hold/acquire.hpp"
#include "store/feature.hpp"

namespace cmd {

/// Locks that are wanted together.
struct ClaimPlan {
  ServerChoice server;
  std::vector<store::LockName> keys;  // sorted, each once, at least one
  store::Mode mode;
  store::Ttl ttl;
  base::Millis wait;  // Millis::max(): forever
  store::Label label;
  std::optional<unsigned> max_waiters;
  unsigned sync_replicas;
  bool supersede;
  bool local_gate;
  int conflict_exit_code;

  /// One claim for each key, all with the same fresh token.
  [[nodiscard]] std::vector<store::Claim> claims() const;
  [[nodiscard]] std::unique_ptr<store::LockStore> open_store() const;
  /// "'a'", or "'a', 'b'": for messages.
  [[nodiscard]] std::string shown_keys() const;
};

/// `ttl_help` is what --ttl means to the command.
void declare_claim(Settings& settings, const char* ttl_help);
/// Throws Refusal. `label` is for a claim that says none.
ClaimPlan understand_claim(const Settings& settings, store::Ttl ttl, const store::Label& label);

/// Throws Refusal if the option that needs it cannot be had with that kind of server.
void require(const ServerChoice& server, store::Feature feature, std::string_view option);

/// A TTL, if one was set anywhere. Throws Refusal.
std::optional<store::Ttl> ttl_in(const Settings& settings);
/// A number from `least` to `most`. Throws Refusal.
unsigned number_in(const Setting& setting, unsigned least, unsigned most);

}  // namespace cmd
