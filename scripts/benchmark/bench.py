"""What rlock costs, as ratios to flock(1) in the same run. Called by scripts/bench.

usage: bench.py [uncontended|handoff|idle|takeover|share|gate|quorum|crowd|guardian]...      default: all of them
       bench.py against      BENCH_AGAINST is the other program
"""

import sys

from bars.against import against
from bars.crowd import crowd
from bars.gate import gate
from bars.guardian import guardian
from bars.handoff import handoff
from bars.idle import idle
from bars.quorum import quorum
from bars.share import share
from bars.takeover import takeover
from bars.uncontended import uncontended

KNOWN = {"uncontended": uncontended, "handoff": handoff, "idle": idle, "takeover": takeover,
         "share": share, "gate": gate, "quorum": quorum, "crowd": crowd, "guardian": guardian}
ALL = list(KNOWN)
KNOWN["against"] = against

wanted = sys.argv[1:] or ALL
unknown = [name for name in wanted if name not in KNOWN]
if unknown:
    sys.exit(f"bench: no such bar: {unknown[0]!r}; there are: {' '.join(KNOWN)}")
print(f"{'what':<58} {'seen':>14}   {'bar':<12}")
for name in wanted:
    KNOWN[name]()
