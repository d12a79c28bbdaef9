// The thread that refreshes all locks of one server, and tells which of them are lost.
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <vector>

#include "base/log.hpp"
#include "hold/held_locks.hpp"
#include "os/mailbox.hpp"
#include "os/poll.hpp"
#include "os/thread.hpp"
#include "rlock/rlock.hpp"

namespace library {

/// Locks that were acquired together, while they are held.
class Kept {
 public:
  struct Terms {
    store::Millis grace;
    std::function<void(const rlock::Loss&)> on_lost;
  };
  Kept(hold::HeldLocks locks, Terms terms);

  // Any thread.
  [[nodiscard]] std::stop_token lost() const { return lost_.get_token(); }
  [[nodiscard]] std::optional<rlock::Loss> loss() const;
  [[nodiscard]] store::Deadline valid_until() const { return store::Deadline::at(valid_until_); }
  /// From now on it is valid no longer. Only after it has been taken out.
  void spend() { valid_until_ = store::Moment{}; }
  /// Readable once it is lost; -1: there is no descriptor to spare.
  [[nodiscard]] int descriptor() const;

 private:
  friend class Keeper;
  struct Told {};

  /// When the keeper has something to do for it.
  [[nodiscard]] store::Deadline due() const;
  [[nodiscard]] store::Deadline listen_due() const;
  [[nodiscard]] store::Deadline unsafe_from() const;
  /// A question of another lock ends by then: it leaves this one half of the time until it is
  /// unsafe, once it is due. never(): it has had its turn, and failed.
  [[nodiscard]] store::Deadline turn_by(base::Moment now) const;
  void note(const hold::News& news);
  /// The first reason counts, but that a cancelled lock may be lost as well. Calls the user's code.
  void lose(const rlock::Loss& loss);

  hold::HeldLocks locks_;  // guarded by the keeper's mutex, or the keeper's thread is busy with it
  store::Deadline listen_at_;
  bool in_trouble_ = false;  // the last refresh failed
  bool hear_again_ = true;   // an answer may have brought a notice with it
  bool is_over_ = false;     // gone or unsafe
  Terms terms_;
  std::atomic<store::Moment> valid_until_;
  std::stop_source lost_{};
  mutable std::mutex mutex_{};  // guards what follows
  std::optional<rlock::Loss> loss_{};
  mutable std::unique_ptr<os::Mailbox<Told>> told_{};
};

/// One thread, which begins with the first lock. Any thread may call it.
class Keeper {
 public:
  /// `sink` outlives it.
  explicit Keeper(base::log::Sink* sink) : sink_{sink} {}
  /// All locks have been taken out. Not by its own thread.
  ~Keeper();
  Keeper(const Keeper&) = delete;
  Keeper& operator=(const Keeper&) = delete;

  /// Throws std::system_error if the system refuses a thread.
  void keep(std::shared_ptr<Kept> kept);
  /// Cuts a refresh of them short, and waits until then for the user's code if that is being told
  /// of their loss: it may need what the caller has locked.
  hold::HeldLocks take_out(Kept& kept, store::Deadline at_most);
  /// Waits until the user's code has returned that is being told of the loss. Not in a keeper's
  /// thread, where two such callbacks would wait for each other.
  void await_told(const Kept& kept);
  /// Whether a keeper runs the calling thread; and whether it is this one.
  static bool is_in_one();
  [[nodiscard]] bool is_this_thread() const;

 private:
  struct Wake {};
  /// One look at all locks finds these.
  struct Round {
    store::Deadline until = store::Deadline::at({});    // the look serves until then
    store::Deadline unsafe = store::Deadline::never();  // the first is to be told that it is lost
    store::Deadline next = store::Deadline::never();    // the first is due
    store::Deadline turn = store::Deadline::never();    // the first is to have its turn
    const Kept* turn_is_of = nullptr;
    store::Deadline turn_of_others = store::Deadline::never();
    std::vector<std::shared_ptr<Kept>> due{};  // the last comes first
  };
  using Guard = std::unique_lock<std::mutex>;

  void run();
  void step(Guard& guard);
  void look(base::Moment now);
  void sleep(store::Deadline until, Guard& guard);
  void hear(Guard& guard);
  [[nodiscard]] std::vector<int> listeners() const;
  /// It takes no server.
  void tell_unsafe(base::Moment now, Guard& guard);
  void act_for(const std::shared_ptr<Kept>& kept, Guard& guard);
  /// Calls the user's code, during which the lock may be taken out.
  template <class Tell>
  void tell(const std::shared_ptr<Kept>& kept, Guard& guard, const Tell& tell_it);
  /// Ends what the locks hold that the thread no longer has in its hands, and what the user's code
  /// in them holds, which may call us.
  template <class Owners>
  void let_go(Owners owners, Guard& guard);
  /// How long one lock may take: never until after another is to be told that it is lost. Usually
  /// for a second, or until another is to have its turn; after a failure until another is due. Else
  /// for longer than the server usually takes.
  [[nodiscard]] store::Deadline time_for(const Kept& kept) const;
  [[nodiscard]] bool is_asking() const { return busy_with_ != nullptr && !telling_; }
  /// Ends the question that is under way by then.
  void hurry(store::Deadline until);
  void note_answer(bool came, store::Millis after);

  base::log::Sink* sink_;
  os::Mailbox<Wake> wakes_{};  // ends the thread's sleep
  std::mutex mutex_{};         // guards what follows
  os::Timer alarm_{};          // ends the thread's sleep
  os::Timer limit_{};          // ends what it asks
  std::condition_variable idle_{};
  std::vector<std::shared_ptr<Kept>> all_{};
  const Kept* busy_with_ = nullptr;
  Round round_{};
  bool unheard_ = false;  // answers of this round may have brought notices
  store::Deadline asks_until_ = store::Deadline::at({});  // if it is busy with the locks
  bool telling_ = false;      // busy with the user's code, and not with the locks
  bool failing_ = false;      // the last refresh
  store::Millis slowest_{0};  // of the last answers
  store::Deadline sleeps_until_ = store::Deadline::at({});
  bool ends_ = false;
  os::Thread thread_{};
};

}  // namespace library
