// A client that wants or holds one lock: what it has written at the server and seen there, and how
// it comes and goes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "store/sessions/memory.hpp"
#include "store/sessions/queue.hpp"
#include "store/sessions/session.hpp"

namespace store::sessions {

struct Contender {
  /// Its node in the queue.
  struct OwnNode {
    std::string path{};          // empty while there is none
    std::optional<Stat> made{};  // once it is known
    NodeText text{Token::foreign("")};
  };
  /// The nodes that it waits for.
  struct Predecessor {
    enum class State {
      none,            // there is nothing to wait for
      one_of_several,  // when it goes, others may still be before us
      last,            // when it goes, the lock is ours
      gone             // it was the last one
    } state = State::none;
    std::vector<std::string> paths{};
  };
  /// The node of its run, in the lock's memory.
  struct OwnRun {
    std::string node{};  // empty while there is none for certain
    std::string text{};
    std::optional<Stat> made{};         // where the server told it
    bool is_refused = false;            // we may not write the memory
    std::vector<std::string> others{};  // the runs that were remembered when we came
  };
  /// The slot of its run, as it saw or wrote it last.
  struct OwnSlot {
    std::string node{};  // empty if it has none
    SlotRecord record{};
    std::optional<Stat> stat{};         // nothing: there was no such node
    bool is_done = false;               // heard while we waited
    std::vector<std::string> others{};  // the slots that were remembered when we came

    void note(const std::optional<Node>& seen);
    /// When it was written last, in ms since 1970; 0: never.
    [[nodiscard]] std::int64_t written_ms() const { return stat ? stat->written_ms : 0; }
  };

  /// The memory of it beyond the end of a session.
  struct Past {
    std::optional<Moment> came_first{};  // when it asked for a node for the first time
    Moment came_last{};                  // and when for the last
    bool is_in_doubt = false;            // it has not read whether it is superseded since then
    bool is_admitted = false;            // it waits, or did: --max-waiters does not apply
    bool has_seen_older = false;
    std::vector<std::string> older{};  // the names of the nodes that it supersedes, once seen
    bool has_superseded = false;
  };

  Places places{};
  Past past{};
  std::optional<std::string> stop{};  // somebody asks it to go, for this reason
  std::uint64_t change = 0;           // the last one that we saw in the queue
  OwnNode own{};
  Predecessor predecessor{};
  OwnRun run{};
  OwnSlot slot{};
  bool grant_is_unheard = false;  // we wrote one, and heard nothing
  std::optional<Moment> granted_at{};

  /// Takes what was read of our node. A permit's number that we have chosen stays.
  void note_own(const Node& seen);
  /// The servers' time when our node was made, or else ours now.
  [[nodiscard]] std::int64_t server_ms() const;
  /// The state of the slot, or none if its history is over.
  [[nodiscard]] rules::SlotState slot_state() const;
};

// The slot is written by the holder before us: it may change between our look and our write.
inline constexpr int most_tries = 4;
/// After so many.
Fault restless();
/// Our node is gone.
Fault place_lost();

/// Takes what was read of the slot that we wait for. Whether it is done.
Result<bool> hear_of_slot(Contender& contender, const Result<std::optional<Node>>& seen);
Result<std::optional<Node>> get(Session& session, const std::string& path, Watch watch,
                                const CallLimit& limit);
Result<base::Done> read_slot(Session& session, Contender& contender, const CallLimit& limit);
/// Reads our node, and watches it. False: it is gone.
Result<bool> look_at_own(Session& session, Contender& contender, const CallLimit& limit);
/// Reads the slot that we wait for, and watches it. Whether it is done.
Result<bool> look_at_slot(Session& session, Contender& contender, const CallLimit& limit);

/// Enters the queue, unless the token is in it already, and looks who is before it; takes the lock
/// if that is nobody, and writes down that it did. The lease counts from `asked_at`.
Attempt enter(Session& session, const Claim& claim, Contender& contender, Moment asked_at,
              const CallLimit& limit);

/// The client that holds the lock with that token, as far as the server knows it: what leave()
/// needs. Nothing: none does, or its job has ended.
Result<std::optional<Contender>> holder_with(Session& session, const Places& places,
                                             const Token& token, const CallLimit& limit);

/// Leaves the queue, gives back what we have, and writes down how our run ended, if it says so;
/// without that there never was one. NotOurs: our node had gone.
Release leave(Session& session, Contender& contender, const Token& token, const Parting& parting,
              const CallLimit& limit);

}  // namespace store::sessions
