// The load of the compared servers: random acts on a few locks, as of rlock's clients and of
// strangers.
#pragma once

#include <string>
#include <vector>

#include "random.hpp"
#include "redis_double.hpp"
#include "resp.hpp"

namespace sim {

struct Act {
  enum class Kind {
    script,         // one of ours, by its name
    command,        // a stranger's
    pop,            // a client blocks
    flush_scripts,  // SCRIPT FLUSH
    memory,         // it runs out, or is there again
  };
  Kind kind = Kind::script;
  Micros later = 0;  // how long after the act before; the clock may have been set back
  std::string script;
  Words keys;              // of a script; or those to pop from
  Words words;             // arguments of a script; or a command
  std::size_t client = 0;  // who pops
  bool yes = false;        // memory: it has run out
};

class Workload {
 public:
  static constexpr std::size_t clients = 4;

  explicit Workload(std::uint64_t seed);
  Act next();
  /// An answer to the last act, from which a client learns its ticket.
  void learn(const Reply& reply);

 private:
  Act script();
  Act enter();
  Act leave();
  Act pushes();
  Act command();
  Act on_list_or_string(const std::string& key);
  Act on_sorted_set(const std::string& key);
  Micros pause();
  std::string token();
  std::string id();
  std::string mode();
  std::string milliseconds();
  std::string lock();
  Act of(std::string name, Words arguments);
  /// Adds a name and a value, sometimes.
  void may_say(Words& words, unsigned percent, const char* name, std::string value);
  /// The same, of a run for a slot; with arguments that say more of it.
  Act for_slot(Act act, Words more);
  std::string some_key();

  Random random_;
  std::string usual_mode_;
  bool poor_ = false;  // out of memory
  std::vector<std::string> tickets_;
  std::size_t locks_;
  std::size_t tokens_;
};

}  // namespace sim
