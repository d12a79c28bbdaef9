// An in-memory Redis 7 for the simulator, without sockets, threads or a clock of its own.
//
// It answers what rlock asks, and only that; an option that no client of ours uses is a syntax
// error here. tests/sim/differential.cpp compares it with the real one. It depends on the calls
// alone: the same calls give the same answers.
//
// Time is a parameter: the server's wall clock, in µs since 1970, which may step and drift as its
// owner likes. Expiry, TIME and the ends of BLPOP and WAIT follow it.
#pragma once

#include <array>
#include <cstdint>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <unordered_set>
#include <vector>

#include "keyspace.hpp"
#include "resp.hpp"
#include "script_engine.hpp"

namespace sim {

using Micros = std::int64_t;

/// A client of a server; its owner has the server forget it before it ends.
struct Client {
  std::uint64_t id = 0;  // as CLIENT ID says it
  std::size_t database = 0;
  bool authenticated = false;

  struct Waits {
    Words keys;              // BLPOP; or none: WAIT
    std::int64_t count = 0;  // of replicas, for WAIT
    std::optional<Micros> until;
  };
  std::optional<Waits> waits;  // blocked: no other command of it may be executed
};

/// A blocked command that has its answer now.
struct Answered {
  Client* client;
  Reply reply;
};

class RedisDouble {
 public:
  enum class Data { kept, lost };

  explicit RedisDouble(std::shared_ptr<ScriptEngine> engine) : engine_{std::move(engine)} {}
  RedisDouble(const RedisDouble&) = delete;
  RedisDouble& operator=(const RedisDouble&) = delete;

  /// Nothing if the command blocks: its answer comes through take_answered().
  std::optional<Reply> execute(Client& client, const Words& command, Micros now);
  /// Ends what has waited long enough.
  void tick(Micros now);
  /// When tick() has something to do. Redis looks ten times a second, so it may be called late.
  [[nodiscard]] std::optional<Micros> next_timeout() const;
  /// Blocked commands that were answered meanwhile, in the order of the answers.
  std::vector<Answered> take_answered();
  /// The connection is gone. The command that it was blocked in ends unanswered.
  void forget(Client& client);

  /// SCRIPT LOAD of one whose digest is known.
  void load_script(std::string_view digest, std::string_view body);

  // The events that can happen to a server.
  void restart(Data data);  // scripts are gone either way; forget() its clients first
  void set_out_of_memory(bool yes) { out_of_memory_ = yes; }
  void set_password(std::string password) { password_ = std::move(password); }
  void set_replicas(std::int64_t that_acknowledge, Micros now);

  /// To look at and to change things behind everybody's back, at a time.
  Keyspace& keys(std::size_t database, Micros now);

 private:
  std::optional<Reply> perform(Client& client, const Words& command);
  std::optional<Reply> block_in_pop(Client& client, const Words& command);
  std::optional<Reply> block_in_wait(Client& client, const Words& command);
  Reply eval(Client& client, const Words& command, bool by_digest);
  Reply call_from_script(Client& client, const Words& command);
  Reply script(const Words& command);
  Reply config(const Words& command);
  Reply authenticate(Client& client, const Words& command);
  [[nodiscard]] std::string info() const;
  void serve_pops(std::size_t database);
  void serve_waits();
  Reply pop(std::size_t database, const std::string& key);
  void answer(std::list<Client*>::iterator blocked, Reply reply);

  std::shared_ptr<ScriptEngine> engine_;
  std::array<Keyspace, 16> databases_;
  std::unordered_set<std::string> scripts_;  // digests of those it knows
  std::list<Client*> blocked_;               // who has waited longest comes first
  std::vector<Answered> answered_;
  std::string password_;
  std::int64_t replicas_ = 0;
  bool out_of_memory_ = false;
  bool script_wrote_ = false;  // the script that runs: from then on no lack of memory stops it
  Micros now_ = 0;
};

}  // namespace sim
