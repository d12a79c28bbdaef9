#!/usr/bin/env bats
# --sync-replicas: a grant that replicas have confirmed.
load ../../lib/rlock

# own_master: a server for this test alone that replicas can follow.
own_master() {
  PORT=$(free_port)
  own_server --bind 127.0.0.1 --port "$PORT" --repl-diskless-sync-delay 0
  MASTER=$SERVER
}

# add_replica: REPLICA is a server that follows the master and has what it has.
add_replica() {
  own_server --replicaof 127.0.0.1 "$PORT"
  REPLICA=$SERVER
  use_server "$MASTER"
  wait_until replica_is_up
}

replica_is_up() {
  [[ $(redis-cli -s "$REPLICA/redis.sock" info replication) == *master_link_status:up* ]] &&
    [[ $(redis wait 1 100) == 1 ]]
}

@test "with enough replicas the job runs, and they have the lock" {
  own_master
  add_replica
  attempt -k "$K" --sync-replicas 1 -- redis-cli -s "$REPLICA/redis.sock" get "$K"
  assert_success
  [[ $output == "$(id -un)@"* ]]
  free "$K"
}

@test "with too few it is no grant: 69, nothing ran, nothing is held" {
  own_master
  add_replica
  attempt -k "$K" --sync-replicas 2 -- touch "$T/ran"
  assert_equal "$status" 69
  assert_one_stderr_line 'only 1 of 2 replicas'
  [[ ! -e $T/ran ]]
  free "$K"
}

@test "a silent replica is one too few" {
  own_master
  add_replica
  pause_redis "$REPLICA"
  attempt -k "$K" --sync-replicas 1 -- touch "$T/ran"
  assert_equal "$status" 69
  resume_redis "$REPLICA"
  [[ ! -e $T/ran ]]
  free "$K"
}

@test "with --wait it is tried again until there are enough" {
  own_master
  start job -k "$K" --sync-replicas 1 -w 60s -- echo ran
  wait_until says "$T/job.err" 'only 0 of 1 replicas'
  add_replica
  finish job
  assert_success
  assert_output ran
}

@test "a refresh that too few replicas confirm is none: the job is stopped before the lease ends" {
  own_master
  add_replica
  hold_stubborn holder -t 3s --grace 100ms --sync-replicas 1
  wait_refreshed "$K"
  pause_redis "$REPLICA"
  finish holder
  assert_equal "$status" 76
  assert_stderr_line 'only 0 of 1 replicas'
  resume_redis "$REPLICA"
}

@test "without it nothing is asked of replicas" {
  watch_wire "$T/wire"
  attempt -k "$K" -- true
  assert_success
  wire_mark "$T/wire" end
  end_watching
  unsaid "$T/wire" '"WAIT"'
}

@test "it is a number" {
  attempt -k "$K" --sync-replicas all -- touch "$T/ran"
  assert_equal "$status" 64
  assert_one_stderr_line "--sync-replicas: 'all' is not valid"
}

@test "a grant that too few replicas have is asked for again under another token" {
  own_master
  add_replica
  watch_wire "$T/wire"
  attempt -k "$K" --sync-replicas 2 -w 6s -q -- touch "$T/ran"
  assert_equal "$status" 69
  wait_until tokens_on_wire "$T/wire" 2
  end_watching
  free "$K"
}
