// What somebody in the queue keeps an eye on.
#pragma once

#include <vector>

#include "store/local/ledger.hpp"

namespace store::local {

/// The first waiter watches the holders, every other one the waiter before it: so a crash wakes one
/// process and no herd. What happens in good order is told through the pipes.
class Vigil {
 public:
  /// From now on; says what our place is.
  Queued begin(const Ledger& ledger, const Entry& mine);
  /// Until something happened, or patience ended.
  Turn wait(os::NamedPipe& pipe, const Patience& patience) const;

 private:
  bool watch(const Ledger& ledger, const Entry& other);

  std::vector<os::Fd> watched_;
  Deadline look_at_ = Deadline::never();
};

}  // namespace store::local
