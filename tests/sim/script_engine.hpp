// Lua 5.1 with the environment that Redis 7 gives its scripts.
//
// Any number of simulated servers share one engine, so that a script is compiled once. What a
// server knows (SCRIPT LOAD, FLUSH) is that server's own business.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "resp.hpp"

struct lua_State;

namespace sim {

/// What redis.call() and redis.pcall() of a script do; with the error's text as Redis words it.
using ScriptCall = std::function<Reply(const Words& command)>;

std::string sha1(std::string_view text);

class ScriptEngine {
 public:
  ScriptEngine();

  /// Nothing, or what is wrong with the script.
  std::optional<std::string> compile(const std::string& digest, const std::string& body);
  /// Runs what has been compiled.
  Reply run(const std::string& digest, const Words& keys, const Words& arguments,
            const ScriptCall& call);

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
  std::unordered_map<std::string, int> functions_;  // by digest: references in Lua's registry
  const ScriptCall* call_ = nullptr;                // of the script that runs
};

}  // namespace sim
