// What not every kind of store can do.
#pragma once

#include <initializer_list>

namespace store {

enum class Feature {
  shared,         // readers and writers
  permits,        // several holders, but not more than so many
  steps,          // a hold that outlives the process that took it
  min_hold,       // taken for so long, however quick the job is
  max_waiters,    // busy if so many wait
  supersede,      // newest wins
  sync_replicas,  // a grant that replicas have confirmed
  local_gate,     // of one host's waiters only one is seen
};

using Features = std::initializer_list<Feature>;

}  // namespace store
