// One try of a claim: how it comes into the queue (enter.cpp), and how it becomes a grant
// (grant.cpp).
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
        contender_{contender},
        asked_at_{asked_at},
        limit_{limit} {}

  Attempt enter();

 private:
  [[nodiscard]] bool remembers() const {
    return claim_.history > Millis{0} && !contender_.run.is_refused;
  }

  /// Adds the questions after the lock's queue, and our slot.
  void add_look(Round& round) const;
  /// Takes their answers.
  Result<LockQueue> note_look(const Answers& answers);
  Result<LockQueue> look();

  Attempt come(const LockQueue& queue);
  /// Makes our node, and the node of our run if the lock seems to be free. Nothing: once more.
  std::optional<Result<LockQueue>> make_node(bool seems_free);
  Attempt stand(const LockQueue& queue, std::size_t at);
  Attempt wait_behind(const LockQueue& queue, std::size_t at);
  Attempt turn_away(const LockQueue& queue, std::size_t at);
  /// Busy with the holders of the queue, and the waiters before position `at`.
  Busy busy(const LockQueue& queue, std::size_t at);
  [[nodiscard]] std::string path_of(const QueueNode& node) const {
    return contender_.places.queue + "/" + node.name;
  }

  /// The transaction that writes a grant down.
  struct Grant {
    Transaction steps;
    std::size_t node;                // the step that checks that ours is there
    std::optional<std::size_t> run;  // the one that makes the node of our run
    SlotRecord slot;                 // what our slot is then
  };
  /// Why it was not carried out.
  enum class Refusal {
    unheard,         // perhaps it was
    lost_node,       // our node is gone
    granted_before,  // by a transaction whose answer was lost
    full_memory,     // there is no room for the run, or we may not write it
    written_slot,    // the previous holder has written the slot since
    failed
  };
  Attempt take();
  /// The grant that is written down. Nothing: once more.
  std::optional<Attempt> write_grant();
  Grant grant_to_write();
  [[nodiscard]] Refusal refusal_of(const Rejected& rejected, const Grant& grant) const;
  std::optional<Attempt> recall_grant();
  Granted granted();
  Attempt find_done();
  Result<base::Done> erase_own_node();
  void forget_run();
  void give_up_memory(const Fault& fault);

  Session& session_;
  const Claim& claim_;
  Contender& contender_;
  Moment asked_at_;
  const CallLimit& limit_;
  bool is_new_ = false;  // our node was made by this try, which proves that the session lives
};

/// Our node is gone.
Fault place_lost();

}  // namespace store::sessions
