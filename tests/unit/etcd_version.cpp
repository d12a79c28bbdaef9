// The meaning of an etcd server's version for locks.
#include <doctest/doctest.h>

#include "store/etcd/version.hpp"

namespace unit::etcd_version {

using store::etcd::Fitness;
using store::etcd::fitness_of;

TEST_CASE(
    "the versions of etcd that are too old, that may revoke leases in use, and that are fit") {
  struct Row {
    const char* version;
    Fitness fitness;
  };
  for (const auto& [version, fitness] : {
           Row{"2.3.8", Fitness::too_old},
           Row{"3.3.27", Fitness::too_old},
           Row{"3.4.0", Fitness::revokes_leases},
           Row{"3.4.23", Fitness::revokes_leases},
           Row{"3.4.30", Fitness::revokes_leases},
           Row{"3.4.31", Fitness::fit},
           Row{"3.4.100", Fitness::fit},
           Row{"3.5.0", Fitness::revokes_leases},
           Row{"3.5.0-rc.1", Fitness::revokes_leases},
           Row{"3.5.12", Fitness::revokes_leases},
           Row{"3.5.12+git", Fitness::revokes_leases},
           Row{"3.5.13", Fitness::fit},
           Row{"3.5.16", Fitness::fit},
           Row{"3.6.0-rc.1", Fitness::fit},
           Row{"3.6.4", Fitness::fit},
           Row{"3.10.0", Fitness::fit},
           Row{"4.0.0", Fitness::fit},
           Row{"3.4", Fitness::revokes_leases},
           Row{"3", Fitness::too_old},
           Row{"", Fitness::too_old},
           Row{"new", Fitness::too_old},
           Row{"99999999999.5.0", Fitness::too_old},
       }) {
    CAPTURE(version);
    CHECK(fitness_of(version) == fitness);
  }
}

}  // namespace unit::etcd_version
