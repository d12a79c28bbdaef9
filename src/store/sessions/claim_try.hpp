// One try of a claim: how it comes into the queue (enter.cpp), supersedes others (supersede.cpp),
// and becomes a grant (grant.cpp).
#pragma once

#include <optional>

#include "store/sessions/contender.hpp"

namespace store::sessions {

/// One try of a claim.
class ClaimTry {
 public:
  ClaimTry(Session& session, const Claim& claim, Contender& contender, Moment asked_at,
           const CallLimit& limit)
      : session_{session},
        claim_{claim},
        mode_{named_in_queue(claim.mode)},
        contender_{contender},
        asked_at_{asked_at},
        limit_{limit} {}

  Attempt enter();

 private:
  [[nodiscard]] bool remembers() const {
    return claim_.history > Millis{0} && !contender_.run.is_refused;
  }
  [[nodiscard]] bool is_for_permit() const { return claim_.mode.kind == Mode::Kind::permits; }

  /// Adds the questions after the lock's queue, and our slot.
  void add_look(Round& round) const;
  /// Takes their answers.
  Result<LockQueue> note_look(const Answers& answers);
  Result<LockQueue> look();

  Attempt come(const LockQueue& queue);
  /// Makes our node, and the node of our run if the lock seems to be free. Nothing: once more.
  std::optional<Result<LockQueue>> make_node(bool seems_free);
  /// Takes the text of the node that tells superseded waiters.
  Result<base::Done> hear_whether_superseded(const Result<std::optional<Node>>& seen);
  Attempt stand(LockQueue queue, std::size_t at);
  Attempt wait_behind(const LockQueue& queue, std::size_t at,
                      const std::vector<std::size_t>& watched);
  /// Others use the key in another way, of those before position `at`.
  Result<std::optional<ModeConflict>> conflict(const LockQueue& queue, std::size_t at);
  /// Whether --max-waiters keeps us out, behind that many.
  [[nodiscard]] bool is_crowded(std::size_t waiters) const {
    return !contender_.past.is_admitted && claim_.max_waiters && waiters >= *claim_.max_waiters;
  }
  /// Somebody asks us to go: await_turn() says so.
  static Attempt dismissed() { return Queued{std::nullopt, 0, std::nullopt}; }
  Attempt turn_away(const LockQueue& queue, std::size_t at);
  /// Busy with the holders of the queue, and the waiters before position `at`.
  Busy busy(const LockQueue& queue, std::size_t at);
  [[nodiscard]] std::string path_of(const QueueNode& node) const {
    return contender_.places.queue + "/" + node.name;
  }

  // ---- newest wins (supersede.cpp) ----

  /// Removes the waiters before us, and asks the holders to stop; the queue afterwards.
  Result<LockQueue> send_away(LockQueue queue);
  struct Dismissal;
  [[nodiscard]] std::int64_t newest_older_ms() const;
  Result<std::optional<Dismissal>> dismissal_of(const LockQueue& queue);

  // ---- the grant (grant.cpp) ----

  /// There is room for us, at that position. Chooses the number of our permit.
  Attempt take_permit(const LockQueue& queue, std::size_t at);
  /// The node at position `other` has none yet.
  Attempt wait_for_number(const LockQueue& queue, std::size_t at, std::size_t other);
  /// The transaction that writes a grant down.
  struct Grant {
    Transaction steps;
    std::size_t node;                   // the step that writes ours, or checks that it is there
    NodeText text{Token::foreign("")};  // its text then
    std::optional<std::size_t> run;     // the one that makes the node of our run
    SlotRecord slot;                    // what our slot is then
  };
  /// Why it was not carried out.
  enum class Refusal {
    unheard,         // perhaps it was
    lost_node,       // our node is gone
    full_server,     // there is no room for another text of our node
    written_node,    // somebody has written our node since
    granted_before,  // by a transaction whose answer was lost
    full_memory,     // there is no room for the run, or we may not write it
    written_slot,    // the previous holder has written the slot since
    failed
  };
  Attempt take();
  /// The grant that is written down. Nothing: once more.
  std::optional<Attempt> write_grant();
  Grant grant_to_write(bool is_written);
  [[nodiscard]] Refusal refusal_of(const Rejected& rejected, const Grant& grant) const;
  std::optional<Attempt> recall_grant();
  Granted granted();
  Attempt find_done();
  Result<base::Done> erase_own_node();
  void forget_run();
  void give_up_memory(const Fault& fault);

  Session& session_;
  const Claim& claim_;
  Mode mode_;  // as in the queue
  Contender& contender_;
  Moment asked_at_;
  const CallLimit& limit_;
  bool has_no_room_ = false;  // the server takes no texts
  bool is_new_ = false;       // our node was made by this try, which proves that the session lives
};

}  // namespace store::sessions
