#!/usr/bin/env bats
# The simulator: it finds what it must, and the faults that it has found do not come back. scripts/simulate has more.
load ../lib/rlock

# Under a sanitizer it is a tenth as quick, and a part of scripts/test --all: so here the release's is taken.
simulate() {
  local path=${RLOCK_BIN%/*}/simulate
  [[ -x $path && $path != */asan/* ]] || path=$REPO/build/release/simulate
  "$path" "$@"
}

@test "schedules of every shape keep the promises" {
  local shape
  for shape in exclusive crowd shared permits several supersede max-waiters min-hold cancel force-release foreign steps modes slot slot-retry \
    slot-cancel quorum quorum-several quorum-min-hold quorum-steps quorum-cancel quorum-force-release quorum-slot quorum-slot-retry quorum-slot-cancel \
    quorum-slot-unheard quorum-shared quorum-shared-crowd quorum-shared-steps quorum-shared-min-hold quorum-shared-operator dead-readers cut-waits \
    records; do
    run -0 simulate --seed 1 --seeds 60 --shape "$shape"
    assert_output --partial '60 schedules'
    assert_output --partial ' 0 failed'
  done
}

@test "the same seed is the same history to the byte" {
  simulate --seed 77 --seeds 30 --tell 2>/dev/null >"$BATS_TEST_TMPDIR/one"
  simulate --seed 77 --seeds 30 --tell 2>/dev/null >"$BATS_TEST_TMPDIR/other"
  run -0 cmp "$BATS_TEST_TMPDIR/one" "$BATS_TEST_TMPDIR/other"
  (($(wc -l <"$BATS_TEST_TMPDIR/one") > 1000))
  simulate --seed 78 --seeds 30 --tell 2>/dev/null >"$BATS_TEST_TMPDIR/other"
  run -1 cmp "$BATS_TEST_TMPDIR/one" "$BATS_TEST_TMPDIR/other"
}

@test "most planted mistakes are found within twenty schedules" {
  run simulate --mutants --seed 1 --seeds 20
  [[ ${lines[-1]} =~ ^([0-9]+)' of '([0-9]+)' mistakes found' ]]
  ((BASH_REMATCH[1] >= 30))
}

# Its findings so far: the seed is the history.
@test "a lock that is kept for --min-hold is acquired in time although the first waiter died" {
  local seed
  for seed in 85 279 282 713; do
    run -0 simulate --seed "$seed" --seeds 1 --shape min-hold
  done
}

@test "a refresh that comes when its lease is over does not end the grants of the others" {
  run -0 simulate --seed 11122 --seeds 1 --shape shared
}

@test "a host that dies with the holder and the first waiters does not keep the lock, nor one of the permits" {
  run -0 simulate --seed 15 --seeds 1 --shape exclusive
  run -0 simulate --seed 262 --seeds 1 --shape shared
  run -0 simulate --seed 59949 --seeds 1 --shape min-hold
  run -0 simulate --seed 115101 --seeds 1 --shape permits
}

@test "a lease of a dead reader that is the last one is seen by those behind a dead waiter" {
  run -0 simulate --seed 4105463 --seeds 1 --shape force-release
}

@test "a witness that gives up while the first waiter does not come is followed by another" {
  run -0 simulate --seed 5090972 --seeds 1 --shape exclusive
  run -0 simulate --seed 9020789 --seeds 1 --shape shared
}

@test "a lease that ends before the reservation that a waiter was told of is seen in time" {
  run -0 simulate --seed 18134061 --seeds 1 --shape force-release
}

@test "a waiter that was away and comes back with the oldest ticket joins the readers at once" {
  run -0 simulate --seed 376730030 --seeds 1 --shape shared
}

@test "several locks on a quorum are acquired although a server is slow" {
  run -0 simulate --seed 500074380 --seeds 1 --shape quorum-several
}

@test "a waiter that comes late for its reservation, and finds the slot done, gives the lock on" {
  run -0 simulate --seed 439470684 --seeds 1 --shape slot
}

@test "a question that is asked again has the number of its run, although an earlier run has ended the slot" {
  run -0 simulate --seed 430213872 --seeds 1 --shape slot
}

@test "a failure that a server has heard of from a later claim uses up one retry" {
  run -0 simulate --seed 430140766 --seeds 1 --shape quorum-slot-unheard
}

@test "a waiter that gave back a grant, and has the lock reserved, begins a run of its own" {
  run -0 simulate --seed 428 --seeds 1 --shape quorum-slot-unheard
}

@test "a server that has heard the end of a later run takes no earlier one for the slot's" {
  run -0 simulate --seed 3690 --seeds 1 --shape quorum-slot-unheard
}

@test "the late end of a lost run leaves alone the slot of a run that a server without its data counts anew" {
  run -0 simulate --seed 463008128 --seeds 1 --shape slot-retry
}

@test "the end of a run on a server of a quorum is not that of an earlier one whose end comes later" {
  run -0 simulate --seed 200000513 --seeds 1 --shape quorum-slot-unheard
  run -0 simulate --seed 1000631 --seeds 1 --shape quorum-slot-unheard
}

@test "a job that ends while a server is being healed leaves no grant there" {
  run -0 simulate --seed 476470771 --seeds 1
}

@test "a run that only one server of a quorum knows since another lost its data has no number of its own" {
  run -0 simulate --seed 3102 --seeds 1 --shape quorum-slot-unheard
}

@test "a late end does the slot although a later run was granted" {
  run -0 simulate --seed 77002622 --seeds 1 --shape quorum-slot
}

@test "behind a dead waiter nobody is told who comes to the front of an idle lock of records" {
  run -0 simulate --seed 52104 --seeds 1 --shape records
}

@test "a last word does not stay for ever" {
  run -0 simulate --seed 100569 --seeds 1 --shape cancel
  run -0 simulate --seed 101682 --seeds 1 --shape cancel
}

@test "a cancel is heard in time although a refresh was due as the holder began to listen" {
  run -0 simulate --seed 32188 --seeds 1 --shape cancel
}
