// Decides what happens to the job: events in, actions out. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "hold/held_locks.hpp"
#include "os/child.hpp"
#include "os/signals.hpp"

namespace hold {

enum class OnLost { stop, warn };

struct StoppedFor {
  enum class Reason { loss, request, time } reason;
  std::string why;  // for people
};

/// Actions, to be carried out in order.
struct ToJob {
  int signal;                            // to the job's own process
  std::optional<std::uint64_t> value{};  // that goes with it
};
struct ToTree {
  int signal;  // to the job and all its descendants
};
struct ToOthers {
  int signal;  // to those of them that are not in our process group
};
struct ResumeTree {};  // SIGCONT to those that are stopped
struct Follow {
  int signal;  // our job was stopped by the terminal: stop as well, until continued
};
struct Say {
  std::string text;
  std::string_view event;  // for the log
};
using Action = std::variant<ToJob, ToTree, ToOthers, ResumeTree, Follow, Say>;
using Actions = std::vector<Action>;

/// The rules of rlock-limits(7), SIGNALS and TIMING. It knows the lease's
/// validity, not the store; the job's state, not its pid; and the time only as it is told.
class JobPolicy {
 public:
  struct Terms {
    std::string locks;  // for messages: "'a'"
    store::Deadline valid_until;
    base::Millis grace;
    OnLost on_lost;
    bool wait_all;  // the rest of the tree belongs to the job
    // The job must be gone by then, however long the lease lasts and whatever `on_lost` says.
    store::Deadline latest_end = store::Deadline::never();
    std::string why_then{};  // for messages: "it had its 1h of --max-hold"
  };
  explicit JobPolicy(Terms terms) : terms_{std::move(terms)} {}

  /// To be called at once with a signal whose on_signal() comes later, because somebody looks into
  /// who got it: the job may end of it meanwhile.
  void on_arrival(const os::Signal& signal);
  /// Whether the job got the signal as well, because it was sent to more than us.
  enum class JobHeard { yes, no };
  Actions on_signal(const os::Signal& signal, JobHeard heard, base::Moment now);
  Actions on_news(const News& news, base::Moment now);
  /// `has_terminal`: it is in the foreground of a terminal, and somebody sees us if we stop.
  Actions on_job_stopped(int signal, bool has_terminal);
  /// We stopped because our job was stopped, and nobody has continued us yet.
  [[nodiscard]] bool follows() const { return followed_; }
  Actions on_job_ended(os::ExitStatus status, base::Moment now);
  /// Nobody would stop the job if we were killed now: it goes, as the kernel has begun to see to.
  Actions on_guardian_killed();
  /// What is still to be said. To be called once, when the job is over and its tree is gone.
  Actions last_words();
  /// The round of KILL that on_time() asked for need not be followed by another one before.
  void kill_again(store::Deadline at);
  /// To be called whenever due() passed; harmless at any other time.
  Actions on_time(base::Moment now);
  [[nodiscard]] store::Deadline due() const;
  /// Why the job's time is over at the moment it must be gone by; nothing if that is the lease's
  /// end.
  [[nodiscard]] std::optional<std::string> overran() const {
    if (terms_.latest_end < terms_.valid_until) return terms_.why_then;
    return std::nullopt;
  }
  /// When somebody else must have killed the tree if we, stopped or stuck, have not.
  [[nodiscard]] store::Deadline last_moment() const;

  /// The job itself ended, and nobody waits for the rest of its tree.
  [[nodiscard]] bool is_done() const { return ended_ && !awaits_tree(); }
  /// It ended, and its tree was told to or is waited for: done once the tree is empty.
  [[nodiscard]] bool awaits_tree() const {
    return ended_ && (phase_ != Phase::running || terms_.wait_all);
  }

  [[nodiscard]] const std::optional<os::ExitStatus>& ended() const { return ended_; }
  /// Why we stopped the job, if we did: the lock was, or would have been, lost, or somebody asked.
  [[nodiscard]] const std::optional<StoppedFor>& stopped_for() const { return stopped_for_; }
  /// Somebody, the system that goes down perhaps, told us to end, and the job with us.
  [[nodiscard]] bool was_told_to_end() const;
  /// Why the lock was lost, where the job runs on all the same.
  [[nodiscard]] const std::optional<std::string>& warned_of() const { return warned_of_; }

 private:
  [[nodiscard]] bool has_heard(int signal) const;
  enum class Phase { running, stopping, killing };

  /// When the job must be gone: at the end of the lease or of --max-hold, whichever is first.
  [[nodiscard]] store::Deadline end() const {
    return std::min(terms_.valid_until, terms_.latest_end);
  }
  Actions pass_on(const os::Signal& signal, base::Moment now);
  Actions complete_stop(int signal, base::Moment now);
  Actions lose(const std::string& locks, const std::string& why, base::Moment now);
  Actions stop_for(StoppedFor reason, const std::string& line, base::Moment now);
  Actions stop_tree(base::Moment now);
  Actions kill_tree();
  Actions say(std::string text, std::string_view event);

  Terms terms_;
  Phase phase_ = Phase::running;
  store::Deadline kill_at_ = store::Deadline::never();
  Actions unsaid_{};  // while we kill
  store::Deadline say_at_ = store::Deadline::never();
  struct PassedOn {
    int signal;
    base::Moment at;
  };
  std::optional<PassedOn> stop_passed_on_;  // the first TERM or INT that the tree got
  std::vector<int> heard_;                  // deadly signals that reached us, whoever sent them
  std::string trouble_;
  std::optional<StoppedFor> stopped_for_;
  std::optional<std::string> warned_of_{};
  bool followed_ = false;  // we stopped because our job was stopped at the terminal
  std::optional<os::ExitStatus> ended_;
};

}  // namespace hold
