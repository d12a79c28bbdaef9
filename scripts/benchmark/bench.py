"""Measures the costs of rlock, as ratios to flock(1) in the same run. Called by scripts/bench.

usage: bench.py [uncontended|handoff|idle|takeover|share|gate|quorum|postgres|etcd|tls|library|crowd|guardian]...   default: all of them
       bench.py against      BENCH_AGAINST is the other program
"""

import sys

from bars import BARS

wanted = sys.argv[1:] or [name for name in BARS if name != "against"]
unknown = [name for name in wanted if name not in BARS]
if unknown:
    sys.exit(f"bench: no such bar: {unknown[0]!r}; there are: {' '.join(BARS)}")
print(f"{'what':<66} {'seen':>14}   {'bar':<12}")
for name in wanted:
    BARS[name]()
