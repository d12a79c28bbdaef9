// Which locks, how, and for how long: what a run and `acquire` ask for alike.
#pragma once

#include <memory>
#include <vector>

#include "cmd/server_options.hpp"
#include "hold/acquire.hpp"

namespace cmd {

/// The runs that a claim supersedes: the waiters, or the holders as well.
enum class Supersede { nobody, waiting, all };

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
  Supersede supersede;
  bool local_gate;
  int conflict_exit_code;
  base::Millis history{};  // 0: the run is not remembered
  std::optional<store::Slot> slot{};
  bool share = false;     // where the slot is done: exit as its run did
  std::string reason{};   // what for
  bool outlives = false;  // its process, as a step's does

  /// One claim for each key, all with the same fresh token.
  [[nodiscard]] std::vector<store::Claim> claims() const;
  [[nodiscard]] std::unique_ptr<store::LockStore> open_store() const;
  /// "'a'", or "'a', 'b'": for messages.
  [[nodiscard]] std::string shown_keys() const;
};

/// `label` is for a claim that names none. Throws UsageError.
ClaimPlan resolve_claim(const Settings& settings, store::Ttl ttl, const store::Label& label);

/// How long the server is to remember a run. Throws UsageError.
base::Millis history_in(const Settings& settings);
/// The --reason, as one line; empty if there is none. Throws UsageError.
std::string reason_in(const Settings& settings);
/// A TTL, if one was set anywhere. Throws UsageError.
std::optional<store::Ttl> ttl_in(const Settings& settings);
/// As resolve_claim() reads them, for a step that has no claim. Throw UsageError.
store::LockName key_of(std::string_view source, const std::string& text);
/// Keys of locks that go together: sorted, each once. Of several none may hold a newline, because
/// RLOCK_FENCES has a line for each.
std::vector<store::LockName> sorted_keys(std::vector<store::LockName> keys);
/// The one KEY of a subcommand: its operand, or -k in its place.
store::LockName only_key(const Settings& settings, const std::vector<std::string>& operands);

}  // namespace cmd
