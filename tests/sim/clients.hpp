// Carries out a plan: each client takes locks, has a job run under them and gives them back, with
// the program's own code for all of that; incidents happen at their time.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "plan.hpp"
#include "records_on_redis.hpp"
#include "script_engine.hpp"
#include "store/quorum_node.hpp"

namespace sim {

/// Where mistakes are planted, each at a seam of the program.
struct Sabotage {
  /// In the place of a store that was opened.
  std::function<std::unique_ptr<store::LockStore>(std::unique_ptr<store::LockStore>)> store;
  /// The same of a server of a quorum.
  std::function<std::unique_ptr<store::QuorumNode>(std::unique_ptr<store::QuorumNode>,
                                                   std::size_t number)>
      node;
  BadRecords records{};          // where the server keeps records
  bool nobody_kills = false;     // KILL does not reach the job
  bool no_guardian = false;      // nobody kills the job of who is stopped or dead
  bool deaf_policy = false;      // what is asked of the holder is not told to the policy
  bool late_policy = false;      // the policy takes a lease for a second longer than it is
  bool releases_before = false;  // the job is not waited for
  bool same_random = false;      // getrandom(2) gives the same to everybody
};

struct Outcome {
  std::optional<std::string> violation;
  std::string history;
  std::uint64_t fingerprint = 0;
  std::size_t grants = 0;
  std::uint64_t steps = 0;  // of its fibers and events
  Nanos length = 0;
};

Outcome carry_out(const Plan& plan, const std::shared_ptr<ScriptEngine>& engine,
                  const Sabotage& sabotage, bool tells);

}  // namespace sim
