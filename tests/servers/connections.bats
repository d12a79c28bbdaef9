#!/usr/bin/env bats
# The part of the contract that a connection can break, for each way to a Redis that differs in the connection alone. The
# rest is the same code as for a plain server, which contract.bats tests.
# stores: tls sentinels cluster
load ../lib/rlock
load ../lib/stores
load ../lib/contract_stories

@test "a job runs under the lock, is told so, and its exit code is the exit code" {
  job_runs_under_the_lock
}

@test "a waiter runs when the holder has released" {
  waiter_runs_after_the_release
}

@test "the lock of a holder that was killed passes on" {
  lock_of_a_killed_holder_passes_on
}

@test "inspect and list show who holds" {
  inspect_and_list_show_the_holder
}

@test "force-release takes the lock away; the job is stopped, and the next one runs" {
  force_release_passes_the_lock_on
}

@test "several keys, all or none" {
  several_keys_all_or_none
}

@test "doctor finds nothing that fails" {
  doctor_finds_nothing_that_fails
}
