// The care for held locks: refreshed in time, and an ear for whoever wants them back.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "hold/held.hpp"
#include "hold/news.hpp"
#include "hold/pace.hpp"

namespace hold {

/// What became of one lock that was cared for.
struct ReturnedLock {
  Held held;
  bool lost;                            // there is nothing to release
  std::optional<store::Notice> notice;  // somebody waits for the word that the job has stopped
};

/// One or several locks, each refreshed in its own rhythm. Never blocks longer than one refresh may
/// take. One thread at a time: the main thread while it waits for more locks, the keeper's
/// afterwards.
class HeldLocks {
 public:
  void add(Held held);
  [[nodiscard]] bool empty() const { return charges_.empty(); }
  /// In the order in which they came.
  [[nodiscard]] std::vector<store::Lease> leases() const;
  /// The earliest end of all leases, those of lost locks apart; never() if there are none.
  [[nodiscard]] store::Deadline valid_until() const;

  /// When refresh() is due, and what it does: one lock, the one that is due first.
  [[nodiscard]] store::Deadline due() const;
  News refresh(int interrupt);

  /// When listen() is due, which connects and subscribes where it is needed; not before the first
  /// call does anybody listen.
  [[nodiscard]] store::Deadline listen_due() const;
  void listen(int interrupt);
  /// Readable when hear() may have something to say; -1 while there is no connection.
  [[nodiscard]] std::vector<int> descriptors() const;
  std::optional<News> hear();

  /// The locks, in the order in which they came.
  std::vector<ReturnedLock> give_back() &&;

 private:
  struct Charge {
    Held held;
    Pace pace;
    std::unique_ptr<store::Listener> listener;
    bool lost = false;
    bool deaf = false;          // the store has no listener for it
    bool disturbed = false;     // the last refresh failed
    bool listen_again = false;  // where the next one succeeded, which may be another server
    std::optional<store::Notice> notice{};

    [[nodiscard]] store::Deadline due() const {
      return lost ? store::Deadline::never() : pace.next();
    }
    [[nodiscard]] store::Deadline listen_due() const;
  };
  News refresh(Charge& charge, int interrupt) const;
  static News lose(Charge& charge, std::string why);

  std::vector<Charge> charges_;
};

}  // namespace hold
