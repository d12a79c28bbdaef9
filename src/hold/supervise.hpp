// Supervision of a running job until it, and the processes that must end with it, are gone.
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
  std::optional<std::string> warned_of;  // why the lock was lost, if the job ran on
  bool told_to_end;                      // by a signal to us that the job also received
};

/// Passes signals, the children's changes, the renewer's news and the clock to the policy, and
/// carries out its actions. Touches no server: whatever stalls there, the deadline here is kept. If
/// it throws, the job's tree is gone. Dismisses the guardian at the end. `timer`, which a system
/// may refuse, is made before there is a job. `witness` is absent at first, and dismissed at the
/// end. Main thread.
Ending supervise(os::Guardian& guardian, os::Witness& witness, os::ProcessTree& tree,
                 Renewer& renewer, JobPolicy policy, os::Signals& signals, os::Timer& timer);

}  // namespace hold
