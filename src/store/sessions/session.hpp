// A session with a server whose nodes end with their owner's session, and the questions that it
// answers. ZooKeeper and etcd are such servers; everything above this interface is one for both.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "store/lock_store.hpp"

namespace store::sessions {

/// Why a change was rejected: the kind that the code acts on, and the fault as other rooms see it.
struct Error {
  enum class Kind {
    no_such_node,
    node_exists,
    node_changed,  // it has another version than the change expected
    other
  } kind;
  Fault fault;
};

/// The numbers and times of a node.
struct Stat {
  /// The number of the transaction that created the node; each is greater than all earlier ones.
  std::uint64_t created_by = 0;
  /// Milliseconds since 1970, by the server's clock where it has one (ZooKeeper), otherwise by the
  /// clock of the client that wrote (etcd): for people and for memory, never for a lease.
  std::int64_t created_ms = 0;
  std::int64_t written_ms = 0;
  /// Another one after each write.
  std::int64_t version = 0;
  /// Whether this session owns the node, so that the node ends with it.
  bool is_ours = false;
};

struct Node {
  std::string text;
  Stat stat;
};

/// The names below a node.
struct Children {
  std::vector<std::string> names;  // of a queue: in the order of creation; of others: in any order
  std::uint64_t change = 0;        // the last one below the node that the server knows
};

inline constexpr std::int64_t any_version = -1;

/// Changes that are made together or not at all.
struct Transaction {
  enum class Kind {
    queue,      // a node of this session in a queue; the server appends to its name as it needs
    ephemeral,  // a node of this session
    lasting,    // a node that outlives the session
    set,        // another text, if the version is still the one of `before`
    erase,      // if the version is still the one of `before`
    check,      // the node is there, if the version is still the one of `before`
  };
  struct Step {
    Kind kind;
    std::string path;
    std::string text;
    Stat before;  // as last read; its version may be any_version
    /// With Kind::set: from now on the node ends after that time, and not with its owner's session.
    std::optional<Millis> lasts{};
  };
  std::vector<Step> steps{};
  /// Erased as well, after the steps and only if they were carried out. Nothing depends on it: a
  /// node that is gone or has another version stays as it is.
  std::vector<std::pair<std::string, std::int64_t>> leftovers{};

  // Each returns the place of the step.
  std::size_t create(Kind kind, std::string path, std::string text) {
    return add({kind, std::move(path), std::move(text), {}});
  }
  std::size_t set(std::string path, std::string text, const Stat& before) {
    return add({Kind::set, std::move(path), std::move(text), before});
  }
  /// Only for sessions that can give_away().
  std::size_t set_for(Millis lasts, std::string path, std::string text, const Stat& before) {
    return add({Kind::set, std::move(path), std::move(text), before, lasts});
  }
  std::size_t erase(std::string path, std::int64_t version = any_version) {
    return add_at(version, Kind::erase, std::move(path));
  }
  std::size_t check(std::string path, std::int64_t version = any_version) {
    return add_at(version, Kind::check, std::move(path));
  }

 private:
  std::size_t add_at(std::int64_t version, Kind kind, std::string path) {
    Stat before;
    before.version = version;
    return add({kind, std::move(path), "", before});
  }
  std::size_t add(Step step) {
    steps.push_back(std::move(step));
    return steps.size() - 1;
  }
};

/// A node that a step created.
struct Made {
  std::string path{};
  std::optional<Stat> stat{};  // where the server tells it with the answer
};
struct Committed {
  std::vector<Made> made{};  // at the places of the steps
};
/// The transaction was not carried out, or the answer was lost: then `error` is
/// Fault::Kind::silent.
struct Rejected {
  Error error;
  std::optional<std::size_t> at{};  // the step that failed; nothing: it was none of them
};

/// Whether a change was carried out; false: a node that it needs is not there.
inline Result<bool> unless_gone(const base::Result<Committed, Rejected>& change) {
  if (change) return true;
  const Error& error = change.error().error;
  if (error.kind == Error::Kind::no_such_node) return false;
  return error.fault;
}

enum class Watch { no, yes };

/// Everything that is asked in one round trip: a change, and what is read right after it, whether
/// the change was carried out or not.
struct Round {
  struct Get {
    std::string path;
    Watch watch = Watch::no;  // yes: change_of(path) tells of changes, also of a node that is not
                              // there yet
  };
  Transaction change{};
  std::vector<Get> gets{};
  std::vector<std::string> queues{};    // whose children are wanted in the order of creation
  std::vector<std::string> children{};  // of these in any order

  // Each returns the place of the answer.
  std::size_t get(std::string path, Watch watch = Watch::no) {
    gets.push_back({std::move(path), watch});
    return gets.size() - 1;
  }
  std::size_t queue(std::string path) {
    queues.push_back(std::move(path));
    return queues.size() - 1;
  }
  std::size_t children_of(std::string path) {
    children.push_back(std::move(path));
    return children.size() - 1;
  }
};
struct Answers {
  base::Result<Committed, Rejected> change = Committed{};  // Committed if there was none to make
  std::vector<Result<std::optional<Node>>> nodes{};        // nothing: there is no such node
  std::vector<Result<Children>> queues{};                  // empty if there is no such node
  std::vector<Result<Children>> children{};
  // The change was asked for more than once, because an answer was lost: it may have been made
  // before, and undone by another client.
  bool is_repeated = false;
};

/// Where the nodes of one lock are.
struct Places {
  std::string queue;       // below it: a node for each holder and waiter
  std::string runs;        // below it: a node for each remembered run
  std::string slots;       // below it: a node for each remembered slot
  std::string superseded;  // the node that tells superseded waiters whose nodes are gone
};

/// Outlives the connections to single servers. If a connection breaks, the fate of the change under
/// way is unknown (silent); the session connects again by itself. No threads of its own: everything
/// happens in these calls. One thread at a time.
class Session {
 public:
  Session() = default;
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;
  /// Ends the session at the server, if that is reachable: its nodes go at once. Not after
  /// give_away(): then they last for another `ttl` of it.
  virtual ~Session() = default;
  virtual void give_away() {}
  /// How long the node lasts at least if nobody renews it; nothing: there is no such node.
  virtual Result<std::optional<Millis>> time_left(const std::string& /*path*/,
                                                  const CallLimit& /*limit*/) {
    return Fault{Fault::Kind::unusable, "the nodes of this server have no time of their own"};
  }

  /// Whether the server has ended it: every node of it is gone, or will be.
  [[nodiscard]] virtual bool expired() const = 0;
  /// The lease that can be promised within this session, at most `wanted`.
  [[nodiscard]] virtual Ttl lease_within(Ttl wanted) const = 0;
  /// From when a lease counts whose last question was asked at `asked_at`: earlier where a question
  /// does not renew the session, or not at once.
  [[nodiscard]] virtual Moment lease_counts_from(Moment asked_at) const { return asked_at; }

  [[nodiscard]] virtual Places places_of(const LockName& name) const = 0;
  /// The node that a stopped holder creates for a moment, for the client that took its lock away.
  [[nodiscard]] virtual std::string last_word_of(std::string_view nonce) const = 0;
  /// The keys that have nodes, whose text the pattern (glob) matches; unsorted.
  virtual Result<std::vector<LockName>> names(const std::string& pattern,
                                              const CallLimit& limit) = 0;
  /// Milliseconds since 1970 by the clock that the times of nodes come from, or the best guess.
  virtual std::int64_t now_ms(const CallLimit& limit) = 0;

  /// One round trip. A change is confirmed by a majority; what is read may be a little old if the
  /// server is cut off from the others, but never older than the change before it.
  virtual Answers ask(const Round& round, const CallLimit& limit) = 0;
  /// Renews the session and proves by a majority that the node is there.
  virtual Result<bool> keep(const std::string& path, const CallLimit& limit) = 0;

  /// Waits until there is a connection.
  virtual Result<base::Done> await_connection(const CallLimit& limit) = 0;
  /// Gives up a server that takes questions and does not answer; the session goes on at another.
  virtual void leave_server() = 0;
  /// Receives what was watched and keeps the session alive, until the limit or until `done()`.
  /// Whether it is done.
  virtual bool process(const CallLimit& limit, const std::function<bool()>& done) = 0;
  /// Readable when process() has something to do; -1 while there is no connection.
  [[nodiscard]] virtual int descriptor() const = 0;
  /// The change of a watched node since the last call. A change ends the watch.
  enum class Change { none, written, gone };
  virtual Change change_of(const std::string& path) = 0;
  bool changed(const std::string& path) { return change_of(path) != Change::none; }
};

/// Opens a session that the server keeps for at least `ttl` without a sign of life.
using OpenSession = std::function<Result<std::shared_ptr<Session>>(Ttl ttl, const CallLimit&)>;

}  // namespace store::sessions
