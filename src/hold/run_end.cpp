#include "hold/run_end.hpp"

namespace hold {

using Kind = store::RunOutcome::Kind;
using Reason = StoppedFor::Reason;

store::RunEnd run_end(os::ExitStatus status, const std::optional<StoppedFor>& stopped_for) {
  if (stopped_for) {
    switch (stopped_for->reason) {
      case Reason::loss: return {{Kind::lost}, stopped_for->why};
      case Reason::time: return {{Kind::overran}, stopped_for->why};
      case Reason::request: break;
    }
    const bool by_newer = stopped_for->why.starts_with(store::superseded_by);
    return {{by_newer ? Kind::superseded : Kind::cancelled}, stopped_for->why};
  }
  if (status.signalled()) return {{Kind::signalled, status.signal()}};
  return {{Kind::exited, status.code()}};
}

store::Parting::SlotEnd slot_end(const store::RunEnd& end, bool told_to_end) {
  using End = store::Parting::SlotEnd;
  switch (end.outcome.kind) {
    case Kind::cancelled:
    case Kind::superseded:
    case Kind::overran: return End::done;
    case Kind::exited:
      if (end.outcome.number == 0) return End::done;
      [[fallthrough]];
    case Kind::signalled: return told_to_end ? End::open : End::failed;
    default: return End::open;
  }
}

}  // namespace hold
