// A private real Redis, made comparable with the double: its keys follow the clock of a simulation.
//
// Redis has no clock that could be set. So between two steps no key has an expiry; at the beginning
// of a step each is given what is left of it by the clock of the simulation, and in the end what is
// left is read and taken away again. All of that, and the step itself, is one script, because a
// script sees time stand still as far as the end of keys is concerned. PTTL alone goes on: the
// answer says by how much.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "resp.hpp"

namespace sim {

/// One connection, blocking.
class RealConnection {
 public:
  explicit RealConnection(const std::string& socket);
  RealConnection(const RealConnection&) = delete;
  RealConnection(RealConnection&& other) noexcept;
  ~RealConnection();

  void send(const Words& command);
  /// Waits for at most ten seconds, and throws after them.
  Reply receive();
  Reply ask(const Words& command) {
    send(command);
    return receive();
  }
  /// Whether a part of an answer is there.
  bool has_input();

 private:
  int descriptor_;
  RespReader replies_;
};

/// The remaining time of a key that expires.
struct Remainder {
  std::string key;
  std::int64_t ms;  // at least 1
};

struct Step {
  std::int64_t now_us;  // what TIME says
  std::vector<Remainder> remainders;
  Words gone;  // keys that have ended since
};

struct StepResult {
  std::int64_t elapsed_us;  // by so much PTTL and what is left may be off
  Reply reply;
  Reply dump;  // as sim::dump() shows keys
};

class RealRedis {
 public:
  explicit RealRedis(const std::string& socket);

  /// Whether it is of the version that the double is; a later one differs in what rlock does not
  /// use.
  [[nodiscard]] bool is_7_0();

  /// Runs a script. An error has no "script: …, on …" behind it.
  StepResult run(const std::string& body, const Words& keys, const Words& arguments,
                 const Step& step);
  /// Runs a command, with redis.pcall().
  StepResult execute(const Words& command, const Step& step);

  RealConnection& control() { return control_; }

 private:
  RealConnection control_;
  std::unordered_map<std::string, std::string> digests_;  // of the wrapped scripts, by their body
};

}  // namespace sim
