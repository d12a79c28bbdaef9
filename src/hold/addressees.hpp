// Decides whether a signal was sent to rlock alone or to its job as well. Pure.
#pragma once

#include <deque>
#include <optional>

#include "base/clock.hpp"
#include "os/signals.hpp"

namespace hold {

/// A job in our process group receives signals sent to that group, and must not receive them again
/// from us. Two processes of ours tell the cases apart: the witness is in the group, the guardian
/// is not.
///
///   the witness   the guardian   the signal was sent to
///   has it not    -              us: `kill PID`
///   has it        has it not     the group: `kill -- -PGID`, a CI agent
///   has it        has it         every process, if a service manager sent it (the control group);
///                                otherwise perhaps each process of our program
///
/// "It" is the same signal from the same process at about the same time: timeout(1) signals its
/// child and then the group, and a service manager one process after the other. In doubt, the
/// answer is "to us": a job may receive a signal twice, but must not miss it.
class Addressees {
 public:
  enum class Witness { in_group, guardian };
  struct Decided {
    os::Signal signal;
    bool job_has_it;
  };

  /// A signal to us with unknown addressees. `by_manager`: a service manager sent it.
  void came(const os::Signal& signal, bool by_manager, base::Moment now);
  /// A witness's report.
  void witnessed(Witness by, int signal, pid_t sender, base::Moment now);
  void answered(Witness by, int question);
  /// The witness has ended and reports nothing more.
  void gone(Witness which);

  /// A question for both witnesses, when due: have they reported all signals?
  std::optional<int> question(base::Moment now);
  /// Decisions, in the order in which the signals arrived.
  std::optional<Decided> take(base::Moment now);
  [[nodiscard]] base::Deadline due() const;
  [[nodiscard]] bool empty() const { return doubts_.empty(); }
  /// The job has ended: stop waiting for further signals.
  void hurry() { hurried_ = true; }

 private:
  struct Doubt {
    os::Signal signal;
    bool by_manager;
    base::Moment came;
    int question = 0;  // sent to the witnesses for this signal; 0: none yet
    base::Deadline answer_due = base::Deadline::never();
  };
  struct Sighting {
    Witness by;
    int signal;
    pid_t sender;
    base::Moment at;
  };
  [[nodiscard]] base::Deadline ask_at(const Doubt& doubt) const;
  [[nodiscard]] bool has_seen(Witness witness, const Doubt& doubt) const;
  [[nodiscard]] bool is_answered(const Doubt& doubt) const;

  std::deque<Doubt> doubts_;
  std::deque<Sighting> sightings_;
  int asked_ = 0;
  int answered_in_group_ = 0;
  int answered_guardian_ = 0;
  bool hurried_ = false;
};

}  // namespace hold
