// The one thread that outlives a call: it keeps the lease alive while the job runs.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <variant>

#include "hold/held.hpp"

namespace hold {

/// The lease lasts longer now.
struct Extended {
  store::Deadline valid_until;
};
/// A refresh failed; it will be tried again.
struct Trouble {
  std::string why;
};
/// The lock is definitely not ours any more; nothing is refreshed any more.
struct Lost {
  std::string why;
};
using News = std::variant<Extended, Trouble, Lost>;

/// What stop() leaves to do.
struct StillHeld {
  Held held;
};
/// There is nothing to release; with a notice, somebody waits for the word that the job stopped.
struct TakenAway {
  Held spent;
  std::optional<store::Notice> notice;
};
/// The thread did not answer in time (a name server that hangs): the lease ends by itself.
struct Unreachable {};
using Kept = std::variant<StillHeld, TakenAway, Unreachable>;

/// Owns the proof of holding from its making until stop(): the main thread cannot touch the store
/// meanwhile, because it does not have it. All public members: main thread only.
class Keeper {
 public:
  explicit Keeper(Held held);
  ~Keeper();
  Keeper(const Keeper&) = delete;
  Keeper& operator=(const Keeper&) = delete;

  /// When begin() is due, never() once it was: a job that ends before never costs a thread.
  [[nodiscard]] store::Deadline begin_at() const { return begin_at_; }
  void begin();

  /// Readable while there is news.
  [[nodiscard]] int descriptor() const;
  std::optional<News> take();

  /// Ends the thread, cutting a refresh in flight short, and gives the proof back. Once.
  Kept stop(store::Deadline deadline);

 private:
  class Watch;
  std::shared_ptr<Watch> watch_;  // shared with the thread, which may have to be left behind
  store::Deadline begin_at_;
  std::thread thread_;
};

}  // namespace hold
