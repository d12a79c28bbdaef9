// Lua 5.1 with the environment that Redis 7 gives its scripts.
//
// Any number of simulated servers share one engine, so that a script is compiled once. Each server
// tracks the scripts that it knows (SCRIPT LOAD, FLUSH) itself.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "resp.hpp"

struct lua_State;

namespace sim {

/// redis.call() and redis.pcall() of a script, with errors as Redis words them.
using ScriptCall = std::function<Reply(const Words& command)>;

std::string sha1(std::string_view text);

class ScriptEngine {
 public:
  ScriptEngine();

  /// From now on scripts are compiled with the one text in the place of the other: a mistake that
  /// is planted. Their digests stay.
  void rewrite(std::string from, std::string to);
  /// How many of those that were compiled had it.
  [[nodiscard]] std::size_t rewritten() const { return rewritten_; }
  /// From now on each line that a script executes is noted, by its digest and number.
  void count_lines();
  [[nodiscard]] const std::set<std::pair<std::string, int>>& lines() const { return lines_; }

  /// The SHA1 of a script, reckoned once.
  const std::string& digest_of(const std::string& body);
  /// Nothing, or what is wrong with the script.
  std::optional<std::string> compile(const std::string& digest, std::string_view body);
  /// Runs what has been compiled.
  Reply run(const std::string& digest, std::span<const std::string> keys,
            std::span<const std::string> arguments, const ScriptCall& call);

 private:
  struct Close {
    void operator()(lua_State* lua) const;
  };
  // Each is a function of Lua; the first upvalue is this engine. They leave an error on Lua's stack
  // and say so, because lua_error() jumps over the destructors of C++.
  static int call(lua_State* lua);
  static int pcall(lua_State* lua);
  bool call_out(lua_State* lua);

  std::unique_ptr<lua_State, Close> lua_;
  std::unordered_map<std::string, int> functions_;        // by digest: references in Lua's registry
  std::unordered_map<std::string, std::string> digests_;  // by body
  const ScriptCall* call_ = nullptr;                      // of the script that runs
  const std::string* running_ = nullptr;                  // its digest
  Words words_;                                           // of the call that it makes
  std::string from_;
  std::string to_;
  std::size_t rewritten_ = 0;
  std::set<std::pair<std::string, int>> lines_;
};

}  // namespace sim
