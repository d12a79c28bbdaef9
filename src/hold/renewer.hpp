// The one thread that outlives a call: it refreshes the leases while the job runs.
#pragma once

#include <memory>
#include <optional>
#include <variant>
#include <vector>

#include "hold/held_locks.hpp"
#include "os/proc.hpp"
#include "os/thread.hpp"

namespace hold {

/// The thread did not answer in time (a hanging name server): the leases end by themselves.
struct Unreachable {};
/// The remaining work after stop().
using Handback = std::variant<std::vector<ReturnedLock>, Unreachable>;

/// Owns the proof of holding from its construction until stop(): the main thread cannot touch the
/// store in between, because it does not have it. All public members: main thread only.
class Renewer {
 public:
  explicit Renewer(HeldLocks locks);
  /// The process that lives as long as any process of the job. Call before begin().
  void watch_over(pid_t guardian);
  ~Renewer();
  Renewer(const Renewer&) = delete;
  Renewer& operator=(const Renewer&) = delete;

  /// When begin() is due; never() once it was: a job that ends earlier costs no thread. If the
  /// machine has no thread to spare, it tries again, and reports that as news.
  [[nodiscard]] store::Deadline begin_at() const { return begin_at_; }
  void begin();

  /// Says that the main thread runs, and that the guardian ends the job at `job_until` unless told
  /// of a later moment. From then on, and once the guardian itself has ended, refreshes a lease
  /// only if the last call was at most a TTL (or a second) ago: if the main thread hangs or is
  /// traced, no job is left that needs the lock.
  void note_alive(base::Moment now, store::Deadline job_until);

  /// Readable while there is news.
  [[nodiscard]] int descriptor() const;
  std::optional<News> take();

  /// Ends the thread, interrupting a refresh in flight, and returns the proof. Call once.
  Handback stop(store::Deadline deadline);

 private:
  class Watch;
  std::shared_ptr<Watch> watch_;  // shared with the thread, which may have to be left behind
  store::Deadline listen_at_;
  store::Deadline begin_at_;
  bool said_ = false;  // whether the lack of a thread was reported
  os::Thread thread_;
};

}  // namespace hold
