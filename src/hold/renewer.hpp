// The one thread that outlives a call: it keeps the leases alive while the job runs.
#pragma once

#include <memory>
#include <optional>
#include <variant>
#include <vector>

#include "hold/held_locks.hpp"
#include "os/proc.hpp"
#include "os/thread.hpp"

namespace hold {

/// The thread did not answer in time (a name server that hangs): the leases end by themselves.
struct Unreachable {};
/// What stop() leaves to do.
using Handback = std::variant<std::vector<ReturnedLock>, Unreachable>;

/// Owns the proof of holding from its making until stop(): the main thread cannot touch the store
/// meanwhile, because it does not have it. All public members: main thread only.
class Renewer {
 public:
  explicit Renewer(HeldLocks locks);
  /// The process that is there as long as anything of the job is. Before begin().
  void watch_over(pid_t guardian);
  ~Renewer();
  Renewer(const Renewer&) = delete;
  Renewer& operator=(const Renewer&) = delete;

  /// When begin() is due, never() once it was: a job that ends before never costs a thread. A
  /// machine that has none to spare is asked again, which is said, and is news.
  [[nodiscard]] store::Deadline begin_at() const { return begin_at_; }
  void begin();

  /// The main thread runs, and the guardian ends the job at `job_until` unless it hears of a later
  /// moment. From then on, and once the guardian itself has ended, a lease is refreshed only if the
  /// last call was no more than a TTL (or a second) ago: of a main thread that hangs or is traced,
  /// no job is left that needs the lock.
  void note_alive(base::Moment now, store::Deadline job_until);

  /// Readable while there is news.
  [[nodiscard]] int descriptor() const;
  std::optional<News> take();

  /// Ends the thread, cutting a refresh in flight short, and gives the proof back. Once.
  Handback stop(store::Deadline deadline);

 private:
  class Watch;
  std::shared_ptr<Watch> watch_;  // shared with the thread, which may have to be left behind
  store::Deadline listen_at_;
  store::Deadline begin_at_;
  bool said_ = false;  // that there is no thread to be had
  os::Thread thread_;
};

}  // namespace hold
