// Watches over a running job until it, or what must go with it, is gone.
#pragma once

#include "hold/job_policy.hpp"
#include "hold/renewer.hpp"
#include "os/guardian.hpp"
#include "os/poll.hpp"
#include "os/process_tree.hpp"
#include "os/witness.hpp"

namespace hold {

struct Ending {
  os::ExitStatus status;
  std::optional<StoppedFor> stopped_for;
  std::optional<std::string> warned_of;  // why the lock was lost while the job ran on
  bool told_to_end;                      // by a signal to us, which the job had as well
};

/// Signals, the children's changes, the renewer's news and the clock go to the policy; what it
/// decides is done. Touches no server: whatever stalls there, the deadline here is kept. Should it
/// throw, the job's tree is gone. At the end the guardian is dismissed. `timer`, which a system may
/// refuse, is made before there is a job. `witness` is absent at first, and dismissed at the end.
/// Main thread.
Ending supervise(os::Guardian& guardian, os::Witness& witness, os::ProcessTree& tree,
                 Renewer& renewer, JobPolicy policy, os::Signals& signals, os::Timer& timer);

}  // namespace hold
