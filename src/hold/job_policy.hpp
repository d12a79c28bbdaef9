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
  std::optional<std::uint64_t> value{};  // sent with it
};
struct ToTree {
  int signal;  // to the job and all its descendants
};
struct ToOthers {
  int signal;  // to the members outside of our process group
};
struct ResumeTree {};  // SIGCONT to stopped members
struct Follow {
  int signal;  // the terminal stopped our job: stop as well, until continued
};
struct Say {
  std::string text;
  std::string_view event;  // for the log
};
using Action = std::variant<ToJob, ToTree, ToOthers, ResumeTree, Follow, Say>;
using Actions = std::vector<Action>;

/// The rules of rlock-limits(7), SIGNALS and TIMING. It knows the lease's validity but not the
/// store, the job's state but not its pid, and the time only as a parameter.
class JobPolicy {
 public:
  struct Terms {
    std::string locks;  // for messages: "'a'"
    store::Deadline valid_until;
    base::Millis grace;
    OnLost on_lost;
    bool wait_all;  // the rest of the tree is part of the job
    // The job must be gone by then, however long the lease lasts and whatever `on_lost` says.
    store::Deadline latest_end = store::Deadline::never();
    std::string why_then{};  // for messages: "it had its 1h of --max-hold"
  };
  explicit JobPolicy(Terms terms) : terms_{std::move(terms)} {}

  /// Call at once for a signal whose on_signal() follows after its addressees are known: the job
  /// may die of it before.
  void on_arrival(const os::Signal& signal);
  /// Whether the job also received the signal, because it was not sent to us alone.
  enum class JobHeard { yes, no };
  Actions on_signal(const os::Signal& signal, JobHeard heard, base::Moment now);
  Actions on_news(const News& news, base::Moment now);
  /// `has_terminal`: the job is in the foreground of a terminal, and a shell sees us stop.
  Actions on_job_stopped(int signal, bool has_terminal);
  /// We stopped because our job was stopped, and have not been continued.
  [[nodiscard]] bool follows() const { return followed_; }
  Actions on_job_ended(os::ExitStatus status, base::Moment now);
  /// If rlock is killed now, no process can stop the job, so kill it; the kernel has begun to.
  Actions on_guardian_killed();
  /// Delayed messages. Call once, when the job is over and its tree is gone.
  Actions last_words();
  /// Delays the next round of KILL, after the one that on_time() ordered, until `at`.
  void kill_again(store::Deadline at);
  /// Call whenever due() has passed; harmless at any other time.
  Actions on_time(base::Moment now);
  [[nodiscard]] store::Deadline due() const;
  /// Why the job's time ends when it must be gone; nothing if that is the lease's end.
  [[nodiscard]] std::optional<std::string> overran() const {
    if (terms_.latest_end < terms_.valid_until) return terms_.why_then;
    return std::nullopt;
  }
  /// When another process must have killed the tree if we, stopped or stuck, have not.
  [[nodiscard]] store::Deadline last_moment() const;

  /// The job itself ended, and the rest of its tree is not waited for.
  [[nodiscard]] bool is_done() const { return ended_ && !awaits_tree(); }
  /// The job ended and its tree is waited for, or was told to end: done once the tree is empty.
  [[nodiscard]] bool awaits_tree() const {
    return ended_ && (phase_ != Phase::running || terms_.wait_all);
  }

  [[nodiscard]] const std::optional<os::ExitStatus>& ended() const { return ended_; }
  /// Why we stopped the job, if we did: the lock was lost or would have been, or another user
  /// asked.
  [[nodiscard]] const std::optional<StoppedFor>& stopped_for() const { return stopped_for_; }
  /// Whether another process, perhaps the system at shutdown, told us and the job to end.
  [[nodiscard]] bool was_told_to_end() const;
  /// Why the lock was lost, if the job runs on nevertheless.
  [[nodiscard]] const std::optional<std::string>& warned_of() const { return warned_of_; }

 private:
  [[nodiscard]] bool has_heard(int signal) const;
  enum class Phase { running, stopping, killing };

  /// When the job must be gone: at the end of the lease or of --max-hold, whichever comes first.
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
  Actions unsaid_{};  // held back while we kill
  store::Deadline say_at_ = store::Deadline::never();
  struct PassedOn {
    int signal;
    base::Moment at;
  };
  std::optional<PassedOn> stop_passed_on_;  // the first TERM or INT that the tree received
  std::vector<int> heard_;                  // deadly signals that reached us, from any sender
  std::string trouble_;
  std::optional<StoppedFor> stopped_for_;
  std::optional<std::string> warned_of_{};
  bool followed_ = false;  // we stopped because the terminal stopped our job
  std::optional<os::ExitStatus> ended_;
};

}  // namespace hold
