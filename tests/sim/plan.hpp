// The events of one schedule, as a list that can be shortened: the clients' claims with their
// times, and the faults. All of it follows from a seed and a shape.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "store/lock_store.hpp"
#include "world.hpp"

namespace sim {

/// One wish of a client, and the job that it is for.
struct Wish {
  base::Millis after{0};  // the one before
  std::vector<std::string> keys;
  store::Mode mode{};
  base::Millis ttl{10'000};
  std::optional<base::Millis> wait;  // 0: one try; nothing: for ever
  std::optional<unsigned> max_waiters{};
  bool supersedes = false;
  base::Millis work{0};
  base::Millis dying{0};  // from TERM to its end
  base::Millis min_hold{0};
  std::optional<base::Millis> max_hold{};
  bool in_steps = false;  // acquire, refresh, check and release, each a process of its own
  std::optional<base::Millis> refreshed_ttl{};  // that a step asks for, where it is another one
  std::optional<store::Slot> slot{};
  int code = 0;  // that the job exits with
};

struct ClientPlan {
  int number = 0;  // its process
  std::vector<Wish> wishes;
};

/// A fault, or an act of somebody else.
struct Incident {
  enum class Kind {
    disturbance,
    stop_server,
    restart_with_data,
    restart_without_data,
    flush_scripts,
    out_of_memory,
    crash,
    pause,
    terminate,  // SIGTERM
    step_clock,
    drift,
    cancel,
    force_release,
    foreign,  // SET NX PX of a client that is no rlock
  } kind;
  Nanos at = 0;
  Nanos length = 0;
  int client = 0;
  std::size_t server = 0;
  std::string key{};
  std::int64_t amount = 0;  // µs or ppm of a clock
  std::optional<Disturbance> disturbance{};
};

struct Plan {
  std::uint64_t seed = 0;
  std::string shape;
  std::size_t servers = 1;
  bool records = false;        // they keep records, and have no scripts
  std::vector<Micros> clocks;  // of the servers, by how much they differ from the first; or none
  std::vector<Micros> client_clocks;  // the same, by the client's number
  std::vector<ClientPlan> clients;
  std::vector<Incident> incidents;
  base::Millis history{0};  // that every run asks for

  [[nodiscard]] bool has(Incident::Kind kind) const;
  /// Nothing goes wrong but what befalls clients themselves: the network and the servers are well.
  [[nodiscard]] bool is_calm() const;
  /// The same from then on; what was disturbed before has had the time to come about again.
  [[nodiscard]] bool is_calm_from(Nanos when) const;
  /// Calm, and all clients live on.
  [[nodiscard]] bool nobody_dies() const;
  /// Somebody may ask a holder to stop, or send somebody away who waits.
  [[nodiscard]] bool stops_holders() const;
  template <class Test>
  [[nodiscard]] bool any_wish(const Test& test) const {
    return std::any_of(clients.begin(), clients.end(), [&](const ClientPlan& each) {
      return std::any_of(each.wishes.begin(), each.wishes.end(), test);
    });
  }
  [[nodiscard]] bool has_clock_set_back() const;
  /// Nothing happens to anybody at all.
  [[nodiscard]] bool is_still() const { return incidents.empty(); }
};

/// Their names, in the order of --help.
const std::vector<std::string>& shapes();
/// `shape` empty: one of them, by the seed.
Plan plan_of(std::uint64_t seed, const std::string& shape);
/// For people, one line each.
std::string shown(const Plan& plan);

}  // namespace sim
