// How long one server of an ensemble is tried before the next.
#pragma once

#include <optional>

#include "store/lock_store.hpp"

namespace store::zookeeper {

/// The library itself stays for two thirds of the session with a server that takes a connection and
/// says nothing (one that hangs, or is cut off): longer than any lease in that session has left.
class Trial {
 public:
  /// When the server that is being connected to has had its time. It begins with the first call and
  /// may outlast the limit: whoever is as patient as that again finds it still under way.
  Deadline ends(const CallLimit& limit, Millis session);
  [[nodiscard]] bool failed(Moment now) const { return ends_ && ends_->passed(now); }
  /// That server is connected to, or has gone: the next one is tried anew.
  void reset() { ends_.reset(); }

 private:
  std::optional<Deadline> ends_;
};

}  // namespace store::zookeeper
