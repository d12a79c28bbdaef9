// The promises that always hold, checked after each step from the servers' acts and the clients'
// reports. A violation throws.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "bounds.hpp"
#include "plan.hpp"
#include "store/redis/scripts.hpp"
#include "store/rules/slot.hpp"
#include "world.hpp"

namespace sim {

struct Violation : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// A user of locks: a client's job, or a foreign client's turn.
struct Job {
  int client = 0;  // 0: foreign
  std::vector<std::string> keys;
  std::vector<std::string> tokens;
  store::Mode mode{};
  std::vector<store::Fence> fences;  // of the keys
  std::vector<unsigned> permits;     // which of the permits of each, 0: none
  Nanos asked = 0;                   // when its grant, or the oldest of them, was asked for
  Nanos began = 0;
  Nanos dying = 0;  // from TERM to its end
  base::Moment valid_until{};
  bool alive = true;
  bool in_steps = false;  // nobody watches over it
  std::optional<store::Slot> slot{};
  unsigned attempt = 0;   // the number of the run for its slot, as its lease has it
  unsigned failures = 0;  // before it
};

class Judge final : public Observer {
 public:
  Judge(World& world, const Plan& plan, bool tells) : world_{world}, plan_{plan}, tells_{tells} {}

  void executed(Server& server, const Words& words, const Reply& reply, Micros now) override;

  void wants(int client) {
    wanted_[client] = world_.now();
    ++runs_[client];
    bids_[client] = 0;
    asked_.erase(client);
  }
  void begins(Job& job);
  void ends(Job& job);
  /// The length of leases by the client's count: never longer than by the server's.
  void believes(const Job& job, base::Moment valid_until) const;
  /// It is released, and must stay taken for this long after its grant.
  void kept(const Job& job, Nanos min_hold);
  void crashed(int client) {
    unwell_[client] = std::numeric_limits<Nanos>::max();
    worse_since_ = world_.now();
  }
  void paused(int client, Nanos until) {
    worse_since_ = world_.now();
    auto& known = unwell_[client];
    known = std::max(known, until + forgotten_after);
  }
  /// A server forgot, or its clock went forward: from here leases are worth nothing.
  void leases_are_void() { void_since_ = world_.now(); }
  void data_lost(const Server& server);
  /// The answer to a client.
  void dismissed(int client, const std::string& why);
  void gave_up_busy(const std::string& key, Nanos since);
  void gave_up_waiting(int client, const std::string& key);
  /// A client takes this lock of its job for lost, and not because its time is over.
  void lost(const Job& job, const std::string& key) const;
  /// A job has ended so; its release, which says so, comes next.
  void ended_for_slot(const Job& job, const store::RunOutcome& outcome,
                      store::Parting::SlotEnd end);
  /// A client is told that there is nothing left to do.
  void found_done(int client, const std::string& key, const store::Slot& slot,
                  const store::SlotDone& done);
  /// An operator was told that it was taken from these holders.
  void took_away(const std::string& key, const std::vector<store::Token>& tokens) const;
  /// A client that is no rlock has given it back, or its time is over.
  void foreign_gone(const std::string& key);
  /// The request that told holders this got no answer.
  void heard_no_last_word(const std::string& why) const;
  /// All is over: what is left on the servers is looked at now and later.
  void finish();

  [[nodiscard]] bool is_unwell(int client) const {
    const auto found = unwell_.find(client);
    return found != unwell_.end() && world_.now() < found->second;
  }
  [[nodiscard]] bool was_forced(const Job& job) const;
  void say(int client, const std::string& what);
  [[nodiscard]] const std::string& history() const { return history_; }
  [[nodiscard]] std::uint64_t fingerprint() const { return fingerprint_; }
  [[nodiscard]] std::size_t grants() const { return grants_; }

 private:
  // Two lives of a position in the queue: until then a stopped client may find it gone.
  static constexpr Nanos forgotten_after = 40 * s;

  struct Waiter {
    int client;
    Nanos since;
    double ticket;
    std::int64_t ahead;  // as it was told last while somebody had the lock
    bool ghost = false;  // its question was heard after it had left: nobody waits there
  };
  /// One lock on one server.
  struct Lock {
    std::map<std::string, Waiter> waiters;                  // by id
    std::map<std::string, store::Fence> fences;             // by token
    std::set<std::pair<std::string, std::string>> letters;  // of a record: to whom, what
    store::Fence last_fence = 0;
    std::map<std::string, Nanos> leases;   // until when, by token
    std::map<std::string, Nanos> granted;  // when, by token
    std::set<std::string> given_back;      // tokens
    std::set<std::string> ended;           // tokens of runs that said so, and were heard
    std::set<std::string> never_ran;       // tokens that were given back without a run
    std::set<std::string> cancelled;       // tokens that may have been granted unheard
    std::set<std::string> unheard;  // tokens that were granted again: a run may have been none
    std::map<std::string, Nanos> holders;  // until when, as the server has it; by token
    // Since when a reader could have it.
    Nanos readable_since = 0;
    bool read = false;                    // several hold it
    std::map<int, Nanos> idle_when_left;  // how long it was free, by client
    bool taken = false;
    Nanos ends = 0;  // while it is taken
    Nanos idle_since = 0;
    Nanos unwell_left_at = std::numeric_limits<Nanos>::min() / 2;  // one that had been stopped
    bool ended_by_itself = false;
    bool was_foreign = false;
  };

  /// The holder of a key on most of several servers.
  struct Majority {
    std::string token;     // the last one
    bool has_job = false;  // its job has begun
    Nanos since = 0;
    Nanos until = 0;
    Nanos free_since = 0;  // before it
  };

  /// A job for a slot, as the clients know it.
  struct SlotRun {
    int client = 0;
    std::string token;
    unsigned attempt = 0;
    store::Fence fence = 0;
    std::optional<store::Parting::SlotEnd> end{};
    store::RunOutcome outcome{};
    Nanos ended = 0;
    std::set<std::size_t> known_at{};  // the servers that know its number
    std::set<std::size_t> heard_at{};  // those that heard of its end, and have not lost their data
    bool was_heard = false;            // by any of them
    Nanos heard_since = 0;             // by more than half of them
  };
  using SlotRuns = std::vector<SlotRun>;  // in the order in which they began

  /// So many that any majority has one of them.
  [[nodiscard]] bool any_majority_meets(const std::set<std::size_t>& servers) const {
    return servers.size() > plan_.servers - (plan_.servers / 2 + 1);
  }
  void begins_for_slot(const Job& job);
  [[nodiscard]] bool is_done(const SlotRuns& runs, std::size_t number, unsigned retries,
                             bool surely) const;
  void entered_done(Server& server, Lock& lock, const Words& words, Micros now);
  void heard_end(const Server& server, const Words& words, const Reply& reply);
  void forget_slots(const Server& server);
  void see_rules(Server& server, const std::string& slot, const store::redis::Script* script,
                 const Words& words, const Reply& reply, Micros now);

  void entered(Server& server, Lock& lock, const Words& words, const Reply& reply);
  void granted(Server& server, Lock& lock, const Words& words, const Reply& reply);
  void renewed(Server& server, const Words& words, Micros now);
  /// Whether it was a holder there. A waiter that gave back a grant may have it reserved again.
  bool left(Lock& lock, const Words& words);
  void leaves_queue(Lock& lock, const std::string& id);
  void look(Server& server, Lock& lock, const Words& words, Micros now);
  void superseded(Server& server, const Lock& lock, const Words& words, const Reply& reply,
                  Micros now);
  void see_min_hold(const Lock& lock, const Words& words, const Reply& reply) const;
  void note_end(Lock& lock, const Words& words) const;
  /// The servers' record of the runs matches their outcomes.
  void see_memory();
  void see_memory(const std::string& key, const Lock& lock, const List& lines) const;
  [[nodiscard]] bool granted_since_forced(const std::string& key, const std::string& token) const;
  void forced(const Server& server, Lock& lock, const std::map<std::string, Nanos>& before,
              const Words& words, const Reply& reply);
  void asked_to_stop(const Lock& lock, const Words& words, const Reply& reply);
  void see_idle_reader(const Lock& lock, const std::string& id) const;
  [[nodiscard]] Nanos kept_by_most(const std::string& key, const std::string& token) const;
  void look_at_majority(const std::string& key);
  void see_idle_quorum(const Job& job);
  void see_idle_reader_quorum(const Job& job, const std::string& key) const;
  void see_fences(const Job& job);
  void see_order_quorum(const Job& job, const std::string& key) const;
  void see_bids(int client) const;
  void gave_up_idle_quorum(int client, const std::string& key);
  void see_stopped(const Job& job, const std::map<std::string, Nanos>& told) const;
  [[nodiscard]] bool is_unwell(const Waiter& waiter) const {
    return waiter.ghost || is_unwell(waiter.client);
  }
  [[nodiscard]] Nanos until_a_heartbeat() const {
    return plan_.records ? until_a_heartbeat_on_records : sim::until_a_heartbeat;
  }
  [[nodiscard]] bool has_unwell(const Lock& lock) const;
  [[nodiscard]] Nanos lease_end(const Server& server, const std::string& ttl_ms) const;
  void see_idle_permit(const Lock& lock, const std::string& id);
  void see_idle(const Lock& lock, const std::string& id);
  /// Since when at least one of those lives who look after a lock; nothing: none does.
  [[nodiscard]] std::optional<Nanos> looked_after_since(const Lock& lock, bool ended_by_itself,
                                                        Nanos idle_since) const;
  void see_order(const Lock& lock, const std::string& id);
  void see_pace(int client);
  void recorded(Server& server, const Words& words, Micros now);
  void told(Server& server, Lock& lock, const std::string& to, const std::string& text);
  [[nodiscard]] bool is_excused(const Job& job) const;
  void note(const std::string& text);

  World& world_;
  const Plan& plan_;
  bool tells_;
  std::map<std::pair<std::size_t, std::string>, Lock> locks_;
  std::vector<Job*> jobs_;  // alive
  // The highest under a key: of jobs alone there, and of readers.
  std::map<std::string, store::Fence> fences_;
  std::map<std::string, store::Fence> readers_fences_;
  std::map<std::string, Nanos> told_to_stop_;               // by token
  std::map<std::string, Nanos> forced_;                     // by token
  std::map<std::string, std::set<std::size_t>> forced_at_;  // by token: the servers
  // Where a last word is awaited, by what the holders were told.
  std::map<std::string, std::set<std::string>> answers_;
  std::set<std::string> last_words_;                               // where one was sent
  std::map<std::string, Nanos> kept_until_;                        // by key
  std::map<std::string, Majority> majorities_;                     // by key
  std::set<std::string> began_;                                    // tokens of jobs on a quorum
  std::map<std::pair<std::string, std::string>, SlotRuns> slots_;  // by key and slot
  // As the servers had them last, by the name there.
  struct SlotThere {
    store::rules::SlotState state{};
    std::optional<std::int64_t> ends_ms{};  // by the server's clock
  };
  std::map<std::pair<std::size_t, std::string>, SlotThere> slots_there_;
  std::map<int, Nanos> bids_;  // how often it has asked the servers since
  // How often it has asked in the second that began then.
  struct Asked {
    Nanos since = 0;
    int times = 0;
  };
  std::map<int, Asked> asked_;
  std::map<int, Nanos> wanted_;  // since when a client wants what it wants
  std::map<int, int> runs_;      // of a client, up to this one
  std::map<int, Nanos> unwell_;  // were crashed, or paused; until when
  Nanos worse_since_ = 0;        // when the last one was
  Nanos forced_last_ = 0;
  Nanos void_since_ = -1;
  bool fences_forgotten_ = false;
  std::size_t grants_ = 0;
  std::string history_;
  std::uint64_t fingerprint_ = 14695981039346656037U;
};

}  // namespace sim
