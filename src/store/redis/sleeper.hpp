// A waiter's sleep in its mailbox.
#pragma once

#include <string>

#include "store/redis/link.hpp"
#include "store/redis/nap.hpp"

namespace store::redis {

/// Blocks a link in BLPOP and gives it back. One thread at a time.
class Sleeper {
 public:
  explicit Sleeper(Link& link) : link_{link} {}

  /// Falls asleep if it is not, for as long as `place` allows, and says what woke it.
  Turn sleep(const std::string& mailbox, const Queued& place, const CallLimit& limit);
  /// To be called before the link is used for anything else. A wake that this loses costs nothing,
  /// because whoever wakes up asks the server anyway.
  void wake_up();

 private:
  bool fall_asleep(const std::string& mailbox, Nap nap, const CallLimit& limit);

  Link& link_;
  bool asleep_ = false;  // the link is blocked
  Deadline cut_ = Deadline::never();
};

}  // namespace store::redis
