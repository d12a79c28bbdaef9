// What somebody in the queue keeps an eye on.
#pragma once

#include <optional>
#include <vector>

#include "store/local/ledger.hpp"

namespace store::local {

/// The first waiter watches the holders, every other one the waiter before it: so a crash wakes one
/// process and no herd. What happens in good order is told through the pipes.
class Vigil {
 public:
  /// From now on; says what our place is.
  Queued begin(Ledger& ledger, const Entry& mine);
  /// Lets go of what it watches.
  void end();
  /// Until something happened, or limit ended.
  Turn wait(os::NamedPipe& pipe, const CallLimit& limit) const;

 private:
  /// When to look again, if the kernel will not tell.
  std::optional<Millis> watch(const Ledger& ledger, const Entry& other);

  std::vector<os::Fd> watched_;
  Deadline look_at_ = Deadline::never();
};

}  // namespace store::local
