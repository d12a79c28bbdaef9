// Decides whether a signal was sent to rlock alone or to its job as well. Pure.
#pragma once

#include <deque>
#include <optional>

#include "base/clock.hpp"
#include "os/signals.hpp"

namespace hold {

/// A job in our process group gets what is sent to that group, and must not get it from us again.
/// Two processes of ours tell: the witness is in the group, the guardian is not.
///
///   the witness   the guardian   it was sent to
///   has it not    -              us: `kill PID`
///   has it        has it not     the group: `kill -- -PGID`, a CI agent
///   has it        has it, too    every process, if a service manager sent it (the control group);
///                                by anybody else perhaps to each process of our program
///
/// "It" is the same signal by the same process at about the same time: timeout(1) sends its signal
/// to its child and then to the group, and a service manager to one process after the other. Where
/// there is a doubt, the answer is "to us": a job may get a signal twice, but never not at all.
class Addressees {
 public:
  enum class Witness { in_group, guardian };
  struct Decided {
    os::Signal signal;
    bool job_has_it;
  };

  /// A signal to us whose address is in doubt. `by_manager`: a service manager sent it.
  void came(const os::Signal& signal, bool by_manager, base::Moment now);
  /// What a witness reports.
  void witnessed(Witness by, int signal, pid_t sender, base::Moment now);
  void answered(Witness by, int question);
  /// It has ended: what it has reported is all.
  void gone(Witness which);

  /// The question for both witnesses, when it is time to ask them: whether they have reported all.
  std::optional<int> question(base::Moment now);
  /// Decisions, in the order in which the signals came.
  std::optional<Decided> take(base::Moment now);
  [[nodiscard]] base::Deadline due() const;
  [[nodiscard]] bool empty() const { return doubts_.empty(); }
  /// The job has ended: nobody is waited for that may still send.
  void hurry() { hurried_ = true; }

 private:
  struct Doubt {
    os::Signal signal;
    bool by_manager;
    base::Moment came;
    int question = 0;  // that was asked for it; 0: none yet
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
