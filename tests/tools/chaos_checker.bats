#!/usr/bin/env bats
# The judge of scripts/chaos: histories that it must let pass, and those that it must not.
load ../lib/rlock

# A moment is in ms. run NAME KEY BEGIN END CODE [TTL]: a run and what it said of itself; its job is told of by `section`.
a_run() {
  local name=$1 key=$2 begin=$3 end=$4 code=$5 ttl=${6:-2000} outcome=ran
  case $code in 75) outcome=busy ;; 76) outcome=lost ;; 69) outcome=failed ;; esac
  record "$begin" start "$name" "$key" "\"ttl\": $ttl, \"waits\": ${WAITS:-5}, \"via\": \"${VIA:-direct}\""
  if ((code < 0)); then
    record "$end" end "$name" "$key" "\"code\": $code, \"status\": null"
  else
    record "$end" end "$name" "$key" \
      "\"code\": $code, \"status\": {\"exit_code\": $code, \"outcome\": \"$outcome\", \"fence\": null, \"token\": null}"
  fi
}

# section NAME KEY BEGIN END FENCE [CODE]: without a code the job was stopped. The run's status names the same grant.
section() {
  local name=$1 key=$2 begin=$3 end=$4 fence=$5 code=${6:-}
  sed -i "/\"what\": \"end\", \"run\": \"$name\"/s/\"fence\": null, \"token\": null/\"fence\": $fence, \"token\": \"t\"/" "$T/records"
  record "$begin" enter "$name" "$key" "\"fence\": $fence, \"token\": \"t\""
  record "$end" beat "$name" "$key"
  [[ -z $code ]] || record "$end" leave "$name" "$key" "\"code\": $code"
}

# fault KIND BEGIN END [RUN] [VIA] [KEY]
fault() {
  local kind=$1 begin=$2 end=$3 run=${4:-} via=${5:-} key=${6:-}
  local way="\"$via\"" keys="[\"$key\"]"
  [[ -n $via ]] || way=null
  [[ -n $key ]] || keys=null
  record "$begin" fault "$run" k \
    "\"kind\": \"$kind\", \"since\": ${begin}000000, \"until\": ${end}000000, \"via\": $way, \"keys\": $keys"
}

record() {
  local ms=$1 what=$2 run=$3 key=$4 more=${5:-}
  local name="\"$run\""
  [[ -n $run ]] || name=null
  echo "{\"t\": ${ms}000000, \"what\": \"$what\", \"run\": $name, \"key\": \"$key\", \"mode\": \"${MODE:-x}\"${more:+, $more}}" >>"$T/records"
}

judge() {
  run "$PYTHON" -B "$REPO/tests/chaos/checker.py" "$T/records"
}

condemned_for() {
  local what=$1
  judge
  assert_failure
  assert_output --partial "BROKEN: $what"
}

# two runs, one after the other
a_good_history() {
  a_run r1 k 1000 2000 0
  section r1 k 1100 1900 10 0
  a_run r2 k 1000 3000 3
  section r2 k 2000 2900 20 3
}

@test "a good history passes, and what it counted is printed" {
  a_good_history
  judge
  assert_success
  assert_output --partial 'sections: 2'
  assert_output --partial 'longest idle while waited for, clean: 100 ms'
}

@test "a history without a section proves nothing, and fails" {
  a_run r1 k 1000 2000 75
  judge
  assert_failure
}

@test "two sections at a time that nothing excuses" {
  a_good_history
  a_run r3 k 1000 2500 0
  section r3 k 1800 2400 15 0
  condemned_for 'r1 and r3 overlap on k, 100.0 ms, and nothing excuses it'
}

@test "readers may overlap, a reader and a writer may not" {
  MODE=s
  a_run r1 k 1000 2000 0
  section r1 k 1100 1900 10 0
  a_run r2 k 1000 2000 0
  section r2 k 1200 1900 11 0
  judge
  assert_success
  MODE=x
  a_run r3 k 1000 2000 0
  section r3 k 1850 1950 12 0
  condemned_for 'r1 and r3 overlap'
}

@test "an overlap of a paused machine is excused, but not without a fence that catches it" {
  a_run r1 k 1000 6000 76
  section r1 k 1100 5100 10
  fault pause-tree 2000 5000 r1
  a_run r2 k 1000 6000 0
  section r2 k 4000 5500 20 0
  judge
  assert_success
  assert_output --partial 'overlaps excused: 1'
  sed -i 's/"fence": 20/"fence": 10/' "$T/records"
  condemned_for 'r1 and r2 overlap on k (pause-tree) with fences that do not catch it'
}

@test "a pause excuses what it can have caused: not while the lease lasts, not long after, not where there is none" {
  frozen_holder() {
    local until=$1 second=$2 ttl=$3
    rm -f "$T/records"
    a_run r1 k 1000 9000 76 "$ttl"
    section r1 k 1100 "$until" 10
    fault pause-tree 2000 5000 r1
    a_run r2 k 1000 9000 0
    section r2 k "$second" 8900 20 0
  }
  frozen_holder 5900 3000 2000
  judge
  assert_success
  frozen_holder 5900 2990 2000
  condemned_for 'r1 and r2 overlap on k, 2910.0 ms, and nothing excuses it'
  frozen_holder 6001 3000 2000
  condemned_for 'r1 and r2 overlap on k, 3001.0 ms, and nothing excuses it'
  frozen_holder 5900 3000 null
  condemned_for 'r1 and r2 overlap on k, 2900.0 ms, and nothing excuses it'
}

@test "a machine that was frozen between the grant and the first word: the job comes late, with a fence that tells" {
  a_run r1 k 1000 5500 76
  fault pause-tree 1500 5000 r1
  a_run r2 k 1000 9000 0
  section r2 k 4000 8900 20 0
  section r1 k 5000 5400 10
  judge
  assert_success
  assert_output --partial 'overlaps excused: 1'
  sed -i 's/"fence": 20/"fence": 9/' "$T/records"
  condemned_for 'r2 and r1 overlap on k (pause-tree) with fences that do not catch it'
}

@test "a wipe excuses until the next refresh, and only what the server had" {
  wiped() {
    local until=$1 key=$2
    rm -f "$T/records"
    a_run r1 k 1000 9000 76
    section r1 k 1100 "$until" 10
    fault wipe 3000 3000 '' '' "$key"
    a_run r2 k 1000 9000 0
    section r2 k 3100 8900 20 0
  }
  wiped 5000 k
  judge
  assert_success
  wiped 5001 k
  condemned_for 'r1 and r2 overlap on k, 1901.0 ms, and nothing excuses it'
  wiped 5000 another
  condemned_for 'r1 and r2 overlap on k, 1900.0 ms, and nothing excuses it'
}

@test "a stuck leader of an old etcd excuses a loss that comes late, if the holder stops at once and the fences tell" {
  # revoked KIND LEADER-BACK BEGIN UNTIL FENCE: of the first one's run, its last word, and its fence.
  revoked() {
    local kind=$1 back=$2 begin=$3 until=$4 fence=$5
    rm -f "$T/records"
    a_run r1 k "$begin" 30000 76
    section r1 k 19000 "$until" "$fence"
    fault "$kind" 5000 "$back"
    a_run r2 k 4000 29000 0
    section r2 k 20000 28900 20 0
  }
  local kind
  for kind in leader-stuck majority-stuck; do
    revoked $kind 8000 5000 21000 10
    judge
    assert_success
    assert_output --partial "  by $kind: 1"
  done
  revoked leader-stuck 8000 5000 21001 10
  condemned_for 'r1 and r2 overlap on k, 1001.0 ms, and nothing excuses it'
  revoked leader-stuck 7999 5000 21000 10
  condemned_for 'r1 and r2 overlap on k, 1000.0 ms, and nothing excuses it'
  revoked leader-stuck 8000 5001 21000 10
  condemned_for 'r1 and r2 overlap on k, 1000.0 ms, and nothing excuses it'
  revoked leader-stuck 8000 5000 21000 20
  condemned_for 'r1 and r2 overlap on k, 1000.0 ms, and nothing excuses it'
  for kind in leader-away majority-paused; do
    revoked $kind 8000 5000 21000 10
    condemned_for 'r1 and r2 overlap on k, 1000.0 ms, and nothing excuses it'
  done
}

@test "the versions of etcd whose leaders may be stuck" {
  local version
  revokes_leases() {
    (cd "$REPO/tests/chaos" && "$PYTHON" -Bc \
      'import servers, sys; sys.exit(not servers.Etcd.revokes_leases(sys.argv[1]))' "etcd Version: $1
Git SHA: 3.4.0
Go Version: go1.19.8")
  }
  for version in 3.4.0 3.4.23 3.4.30 3.5.0 3.5.12 3.5.12-rc.1; do
    revokes_leases "$version" || fail "$version does"
  done
  for version in 3.4.31 3.5.13 3.5.16 3.6.0 3.6.12; do
    ! revokes_leases "$version" || fail "$version does not"
  done
}

@test "a run that is frozen before it can hear of a wipe has until it goes on" {
  frozen() {
    local until=$1 run=$2
    rm -f "$T/records"
    a_run r1 k 1000 9000 76
    section r1 k 1100 "$until" 10
    fault wipe 3000 3000 '' '' k
    fault pause-tree 4900 6000 "$run"
    a_run r2 k 1000 9000 0
    section r2 k 3100 8900 20 0
  }
  frozen 7000 r1
  judge
  assert_success
  frozen 7001 r1
  condemned_for 'r1 and r2 overlap on k, 3901.0 ms, and nothing excuses it'
  frozen 7000 r2
  condemned_for 'r1 and r2 overlap on k, 3900.0 ms, and nothing excuses it'
}

@test "a pause of one run is no excuse for another, nor one that came later" {
  a_good_history
  a_run r3 k 1000 2500 0
  section r3 k 1800 2400 15 0
  fault pause-tree 1200 1700 r2
  fault wipe 2300 2300
  condemned_for 'r1 and r3 overlap on k, 100.0 ms, and nothing excuses it'
}

@test "a fence that does not grow" {
  a_good_history
  sed -i 's/"fence": 20/"fence": 10/' "$T/records"
  condemned_for 'the fence of k does not grow: 10 (r1), 10 (r2)'
}

@test "readers are in no order among themselves, but a writer has more than they had" {
  MODE=s a_run r1 k 1000 2000 0
  MODE=s section r1 k 1100 1900 20 0
  MODE=s a_run r2 k 1000 3000 0
  MODE=s section r2 k 1950 2900 10 0
  judge
  assert_success
  a_run r3 k 1000 4000 0
  section r3 k 3000 3900 15 0
  condemned_for 'the fence of k does not grow: 20 (r1), 15 (r3)'
}

@test "a holder of the old master learns of a failover with its next refresh; the other one holds on" {
  a_run r1 k 1000 9000 0
  section r1 k 1100 8000 20 0
  fault failover 900 3000
  a_run r2 k 1000 6000 76
  section r2 k 2900 5000 30
  judge
  assert_success
  section r2 k 2900 5001 30
  condemned_for 'r1 and r2 overlap on k, 5100.0 ms, and nothing excuses it'
}

@test "two masters of one time: the order of the fences is theirs, but equal ones catch nothing" {
  a_run r1 k 1000 3000 0
  section r1 k 1100 1900 20 0
  fault failover 900 2000
  a_run r2 k 1000 3000 0
  section r2 k 1200 1800 19 0
  judge
  assert_success
  sed -i 's/"fence": 19/"fence": 20/' "$T/records"
  condemned_for 'r1 and r2 overlap on k (failover) with fences that do not catch it'
}

@test "while two masters grant locks, the holder that is stopped may be the one that was granted last" {
  a_run r1 k 1000 3000 0
  section r1 k 1100 1900 20 0
  fault failover 900 2000
  fault pause-tree 1100 1300 r2
  a_run r2 k 1000 3000 0
  section r2 k 1200 1800 21 0
  judge
  assert_success
}

@test "a section without a fence" {
  a_good_history
  sed -i 's/"fence": 10/"fence": 0/' "$T/records"
  condemned_for 'r1 has no fence'
}

@test "a stale write that the resource accepted" {
  a_good_history
  record 2500 write r2 k '"fence": 20, "accepted": true'
  record 2600 write r1 k '"fence": 10, "accepted": true'
  condemned_for 'a stale write of r1 was accepted'
}

@test "a job that runs on when rlock is stopped for longer than the lease" {
  a_run r1 k 1000 6000 76
  section r1 k 1100 4100 10
  fault pause-rlock 2000 5000 r1
  condemned_for 'r1 ran 100.0 ms past its lease (pause-rlock)'
}

@test "a job that runs on when the server is silent for longer than the lease" {
  a_run r1 k 1000 6000 76
  section r1 k 1100 4001 10
  fault server-paused 2000 5000
  condemned_for 'r1 ran 1.0 ms past its lease (server-paused)'
}

@test "a job that runs on when its way to the server is cut for longer than the lease, and one whose way is another" {
  a_run r1 k 1000 6000 0
  section r1 k 1100 4001 10 0
  fault cut 2000 5000 '' proxy
  judge
  assert_success
  fault cut 2000 5000 '' direct
  condemned_for 'r1 ran 1.0 ms past its lease (cut)'
}

@test "a job that runs on while a majority with its leader is stuck" {
  a_run r1 k 1000 6000 76
  section r1 k 1100 4001 10
  fault majority-stuck 2000 5000
  condemned_for 'r1 ran 1.0 ms past its lease (majority-stuck)'
}

@test "a job that outlives its rlock" {
  a_run r1 k 1000 2000 -9
  section r1 k 1100 3500 10
  fault kill-rlock 2000 2000 r1
  condemned_for 'the job of r1 ran on after the end of rlock, for 1500 ms'
}

@test "a lock that lies idle while somebody waits" {
  a_run r1 k 1000 2000 0
  section r1 k 1100 1900 10 0
  a_run r2 k 1000 9000 0
  section r2 k 8000 8900 20 0
  condemned_for 'k lay idle for 6100 ms (clean) while somebody waited'
}

@test "a lock that lies idle for longer than a killed holder's lease can last" {
  a_run r1 k 1000 2000 -9
  section r1 k 1100 2000 10
  fault kill-rlock 2000 2000 r1
  a_run r2 k 1000 12000 0
  section r2 k 10000 11000 20 0
  judge
  assert_success
  sed -i 's/"t": 10000000000/"t": 10001000000/' "$T/records"
  condemned_for 'k lay idle for 8001 ms (after a kill) while somebody waited'
}

@test "a lock that lies idle for too long after the server was there again" {
  a_run r1 k 1000 4000 76
  section r1 k 1100 2900 10
  fault restart 2000 5000
  a_run r2 k 1000 40000 0
  section r2 k 30000 31000 20 0
  judge
  assert_success
  sed -i 's/"t": 30000000000/"t": 30001000000/' "$T/records"
  condemned_for 'k lay idle for 25001 ms (server faults) while somebody waited'
}

@test "excuses of an idle lock: not the blink of a bystander, more than one death, another way only so far" {
  a_run r1 k 1000 2000 0
  section r1 k 1100 1900 10 0
  a_run r2 k 1000 9000 0
  section r2 k 8000 8900 20 0
  WAITS=90 a_run r3 k 1000 40000 75
  fault blink 1500 1600 r3
  condemned_for 'k lay idle for 6100 ms (clean) while somebody waited'
  rm "$T/records"
  a_run r1 k 1000 2000 -9
  section r1 k 1100 2000 10
  fault kill-rlock 2000 2000 r1
  a_run r3 k 1500 3000 -9
  fault kill-rlock 3000 3000 r3
  a_run r2 k 1000 25000 0
  section r2 k 24000 24900 20 0
  judge
  assert_success
  sed -i 's/"t": 24000000000/"t": 24001000000/' "$T/records"
  condemned_for 'k lay idle for 22001 ms (after several kills) while somebody waited'
  fault delay 3000 23000 '' proxy
  condemned_for 'k lay idle for 22001 ms (after several kills) while somebody waited'
  fault delay 3000 23000 '' direct
  judge
  assert_success
  assert_output --partial 'server faults: 2001 ms'
}

@test "the claim of a waiter that died long ago is waited for, and no longer" {
  a_run r1 k 1000 30000 0
  section r1 k 1100 29900 10 0
  a_run dead k 2000 4000 -9
  fault kill-rlock 4000 4000 dead
  a_run r2 k 3000 35000 0
  section r2 k 33800 34900 20 0
  judge
  assert_success
  assert_output --partial 'longest idle while waited for, places of the dead: 1900 ms'
  sed -i 's/"t": 33800000000/"t": 34000000000/' "$T/records"
  condemned_for 'k lay idle for 2100 ms (places of the dead) while somebody waited'
}

@test "a waiter that died too long ago excuses nothing" {
  a_run r1 k 1000 50000 0
  section r1 k 1100 49900 10 0
  a_run dead k 2000 4000 -9
  fault kill-rlock 4000 4000 dead
  a_run r2 k 3000 55000 0
  section r2 k 52000 54900 20 0
  condemned_for 'k lay idle for 2100 ms (clean) while somebody waited'
}

@test "a waiter that gives up before an idle lock" {
  a_run r1 k 1000 2000 0
  section r1 k 1100 1900 10 0
  a_run r2 k 1000 9000 75
  a_run r3 k 9500 9900 0
  section r3 k 9600 9800 20 0
  condemned_for 'k lay idle for 7100 ms (clean) while somebody waited'
}

@test "a waiter that is no longer let in, and one that never was" {
  a_good_history
  a_run r3 k 2500 9000 75
  condemned_for 'k lay idle for 6100 ms (clean) while somebody waited'
  a_run r4 other 1000 6000 75
  condemned_for 'other lay idle for 5000 ms (clean) while somebody waited'
}

@test "a waiter that gives up before its time, and one to whom a server is away that nothing kept from answering" {
  a_good_history
  WAITS=0 a_run r3 k 1500 1510 75
  fault cut 1000 1400 '' direct
  WAITS=1 a_run r4 k 1300 1900 69
  fault cut 1000 5000 '' proxy
  judge
  assert_success
  WAITS=1 a_run r5 k 1000 1999 75
  a_run r6 k 2401 2900 69
  condemned_for "r5, exit 75, status {'exit_code': 75, 'outcome': 'busy', 'fence': None, 'token': None}: it gave up early"
  assert_output --partial "BROKEN: r6, exit 69, status {'exit_code': 69, 'outcome': 'failed', 'fence': None, 'token': None}: nothing was in the server's way"
}

@test "a waiter to whom the one server that leads is away, and one to whom two others were there" {
  a_good_history
  fault leader-away 1000 1400
  WAITS=0 a_run r3 other 1300 3300 69
  fault leader-stuck 10000 10400
  WAITS=0 a_run r7 other 10300 12300 69
  fault server-away 4000 6000
  WAITS=0 a_run r4 k 4000 5000 69 1000
  judge
  assert_success
  a_run r5 k 4000 5000 69 1000
  WAITS=0 a_run r6 k 4000 5500 69 1500
  condemned_for "r5, exit 69, status {'exit_code': 69, 'outcome': 'failed', 'fence': None, 'token': None}: nothing was in the server's way"
  assert_output --partial 'BROKEN: r6, exit 69'
}

@test "a lock that lies idle for longer than it takes to find another server" {
  a_run r1 k 1000 2000 0
  section r1 k 1100 1900 10 0
  fault server-away 1000 3000
  a_run r2 k 1000 12000 0
  section r2 k 9900 11000 20 0
  judge
  assert_success
  assert_output --partial 'longest idle while waited for, one of the servers away: 8000 ms'
  sed -i '/"enter", "run": "r2"/s/9900/9901/; /"beat", "run": "r2"/s/9900/9901/' "$T/records"
  condemned_for 'k lay idle for 8001 ms (one of the servers away) while somebody waited'
}

@test "a lock that was lost although nothing took it, or refused although nobody had it; another grant than the job's" {
  a_good_history
  WAITS=0 a_run r3 other 2000 2100 75
  a_run r4 k 3000 3500 76
  a_run r5 k 3600 3900 0
  section r5 k 3700 3800 30 0
  sed -i '/"end", "run": "r5"/s/"token": "t"/"token": "u"/' "$T/records"
  condemned_for "r3, exit 75, status"
  assert_output --partial ': nobody else was near'
  assert_output --partial ': nothing took the lock away'
  assert_output --partial ": its job was told of another grant"
  a_run r6 k 3950 5000 0
  section r6 k 4000 5200 40 0
  condemned_for 'the job of r6 ran on after the end of rlock, for 200 ms'
}

@test "a lock that was lost just after a fault of servers that elect a leader, and one that another fault cannot have cost" {
  # lost KIND BEGIN VIA [RUN]
  lost() {
    local kind=$1 begin=$2 via=$3
    rm -f "$T/records"
    a_good_history
    fault "$kind" 3000 4000 "${4:-}"
    VIA=$via a_run r3 k "$begin" 5500 76
    section r3 k 5100 5400 30
    sed -i '/"run": "r3"/s/"token": "t"/"token": "t3"/' "$T/records"
    looks 5600 5610 '"r3", "r2", "r1"' '["r3", "t3", 30, "lost", null, null, null]'
  }
  condemned_twice() {
    condemned_for "r3, exit 76, status {'exit_code': 76, 'outcome': 'lost', 'fence': 30, 'token': 't3'}: nothing took the lock away"
    assert_output --partial 'BROKEN: the log says of r3: lost None; nothing took the lock away'
  }
  local via
  for via in etcd zk; do
    lost leader-away 5000 $via
    judge
    assert_success
    lost leader-away 5001 $via
    condemned_twice
  done
  lost down 5000 etcd
  judge
  assert_success
  lost restart 5000 direct
  condemned_twice
  lost pause-tree 5000 etcd r3
  condemned_twice
}

@test "an exit code that is not the job's" {
  a_good_history
  a_run r3 k 3000 3500 0
  section r3 k 3100 3200 30 4
  condemned_for "r3, exit 0"
}

@test "a lock that was not acquired, but whose job ran; one that was lost, but says ran; a status that says something else" {
  a_good_history
  a_run r3 k 3000 3500 75
  section r3 k 3100 3200 30 0
  a_run r4 k 3000 3500 76
  sed -i 's/"outcome": "lost"/"outcome": "ran"/' "$T/records"
  a_run r5 k 3000 3600 0
  section r5 k 3550 3590 40 0
  sed -i '/"r5"/s/"exit_code": 0/"exit_code": 1/' "$T/records"
  a_run r6 k 3000 3700 69
  section r6 k 3610 3690 50
  a_run r7 k 3000 3800 137
  section r7 k 3710 3790 60
  condemned_for 'r3, exit 75'
  assert_output --partial "r6, exit 69, status {'exit_code': 69, 'outcome': 'failed', 'fence': 50, 'token': 't'}: its job did run"
  assert_output --partial "r7, exit 137, status {'exit_code': 137, 'outcome': 'ran', 'fence': 60, 'token': 't'}: nobody killed its job"
  assert_output --partial 'r4, exit 76'
  assert_output --partial 'r5, exit 0'
  assert_output --partial 'the status file says something else'
}

@test "a run that a newer one superseded, and one that gave way to an older one" {
  a_good_history
  a_run r3 k 4000 5500 75
  a_run r4 k 5200 6600 76
  section r4 k 5600 6500 30
  a_run r5 k 6400 8000 0
  section r5 k 6700 7900 40 0
  sed -i '/"run": "r[345]"/s/"ttl"/"supersedes": true, "ttl"/' "$T/records"
  judge
  assert_success
  sed -i '/"run": "r5"/d' "$T/records"
  condemned_for "r4, exit 76, status {'exit_code': 76, 'outcome': 'lost', 'fence': 30, 'token': 't'}: nothing took the lock away"
}

@test "a run that a TERM ended before it took signals, and one that it ended later" {
  a_good_history
  a_run r3 k 4000 4004 -15
  fault time-out 4002 4003 r3
  judge
  assert_success
  a_run r4 k 5000 5500 -15
  fault time-out 5200 5210 r4
  condemned_for "r4, exit -15, status None: it did not take a TERM as its own end"
}

@test "a run that was terminated, and one that nobody terminated" {
  a_good_history
  a_run r3 k 4000 4500 143
  section r3 k 4100 4400 30
  fault time-out 4300 4310 r3
  judge
  assert_success
  a_run r4 k 5000 5500 143
  section r4 k 5100 5400 40
  condemned_for "r4, exit 143, status {'exit_code': 143, 'outcome': 'ran', 'fence': 40, 'token': 't'}: nobody terminated it"
}

@test "a death that nobody caused, a run that never ended, a job that ran twice, and what is left behind" {
  a_good_history
  a_run r3 k 3000 3500 -9
  record 3000 start r4 k '"ttl": 2000, "waits": 0, "via": "direct"'
  section r2 k 3100 3200 50 3
  record 9000 left '' k '"thing": "k:rlock:queue"'
  judge
  assert_failure
  assert_output --partial 'BROKEN: r3, exit -9, status None: nobody killed it'
  assert_output --partial 'BROKEN: r4 never ended'
  assert_output --partial 'BROKEN: r2 ran its job twice'
  assert_output --partial 'BROKEN: left behind: k:rlock:queue'
}

# a_slot_run NAME BEGIN END CODE [SLOT [RETRIES]]: for a slot of the key k; SHARES=true: with --share.
a_slot_run() {
  local name=$1 slot=${5:-s} retries=${6:-0}
  a_run "$name" k "$2" "$3" "$4"
  sed -i "/\"start\", \"run\": \"$name\"/s/\"ttl\"/\"slot\": \"$slot\", \"retries\": $retries, \"shares\": ${SHARES:-false}, \"ttl\"/" \
    "$T/records"
}

# attempt_of NAME BEGIN END FENCE NUMBER [CODE]: a section of a run for a slot, whose token is the run's own.
attempt_of() {
  local name=$1 number=$5
  section "$name" k "$2" "$3" "$4" "${6:-}"
  sed -i "/\"run\": \"$name\"/s/\"token\": \"t\"/\"token\": \"$name\", \"attempt\": $number/" "$T/records"
}

# finds_done NAME BEGIN END CODE WHOM FENCE ITS-CODE [SLOT]: a run that found the slot done.
finds_done() {
  local name=$1 whom=$5 fence=$6 its=$7
  a_slot_run "$name" "$2" "$3" "$4" "${8:-s}"
  sed -i "/\"end\", \"run\": \"$name\"/s/\"outcome\": \"ran\"/\"outcome\": \"done\", \"done\": {\"token\": \"$whom\", \"fence\": $fence, \"exit_code\": $its}/" \
    "$T/records"
}

# a_slot: one that died, a spare that took over, and two that found it done.
a_slot() {
  a_slot_run r1 1000 2000 -9
  fault kill-rlock 1950 1960 r1
  attempt_of r1 1100 1900 10 1
  a_slot_run r2 1000 3000 3
  attempt_of r2 2100 2900 20 2 3
  finds_done r3 1500 3010 0 r2 20 3
  SHARES=true finds_done r4 1500 3020 3 r2 20 3
}

@test "a slot whose runner died, that a spare did and the others found done" {
  a_slot
  judge
  assert_success
  assert_output --partial 'slots: 1'
  assert_output --partial 'slots done: 1'
  assert_output --partial 'slots found done: 2'
  assert_output --partial 'further attempts for a slot: 1'
}

@test "a slot that is run again after its good end; a server that had not heard of the end, or forgot it" {
  a_slot
  a_slot_run r5 4000 5000 0
  attempt_of r5 4100 4900 30 3 0
  condemned_for 'r5 ran for slot s of k, which r2 had done 1200 ms before'
  fault wipe 3500 3600
  judge
  assert_success
  assert_output --partial 'slots run again, excused: 1'
  sed -i '/"wipe"/d' "$T/records"
  fault cut 2800 3200 '' direct
  judge
  assert_success
  sed -i '/"cut"/d' "$T/records"
  fault cut 2800 3200 '' proxy
  condemned_for 'r5 ran for slot s of k'
}

@test "a slot that may fail once more is run again, and not twice" {
  a_slot_run r1 1000 2000 3 s 1
  attempt_of r1 1100 1900 10 1 3
  a_slot_run r2 2000 3000 3 s 1
  attempt_of r2 2100 2900 20 2 3
  judge
  assert_success
  a_slot_run r3 3000 4000 0 s 1
  attempt_of r3 3100 3900 30 3 0
  condemned_for 'r3 ran for slot s of k, which r2 had done 200 ms before'
}

@test "a run that was told to end, and failed, leaves its slot to another" {
  a_slot_run r1 1000 2000 3
  attempt_of r1 1100 1900 10 1 3
  fault time-out 1850 1860 r1
  a_slot_run r2 2000 3000 0
  attempt_of r2 2100 2900 20 2 0
  judge
  assert_success
  sed -i '/time-out/d' "$T/records"
  condemned_for 'r2 ran for slot s of k, which r1 had done'
}

@test "a slot that is said to be done by nobody, by another grant, with another code, or by one that had not begun" {
  a_slot
  finds_done r5 3100 3200 0 nobody 20 3
  finds_done r6 3100 3200 0 r2 21 3
  finds_done r7 3100 3200 0 r2 20 4
  finds_done r8 1000 1500 0 r2 20 3
  finds_done r9 3100 3200 3 r2 20 3
  condemned_for 'r5 found slot s of k done by nobody: nobody'
  assert_output --partial 'BROKEN: r6 found slot s of k done by r2, and names another grant: 21'
  assert_output --partial 'BROKEN: r7 found slot s of k done with 4 by r2, whose job ended with 3'
  assert_output --partial 'BROKEN: r8 found slot s of k done by r2, which had not begun'
  assert_output --partial 'BROKEN: r9, exit 3, status'
  assert_output --partial ': not the code of the run that it found'
}

@test "a job that was killed before its first word has done its slot" {
  a_slot_run r1 1000 2000 137
  fault kill-job 1500 1510 r1
  sed -i '/"end", "run": "r1"/s/"token": null/"token": "r1"/' "$T/records"
  finds_done r2 1500 2010 0 r1 10 137
  a_run other k 3000 4000 0
  section other k 3100 3900 20 0
  judge
  assert_success
  sed -i '/kill-job/d' "$T/records"
  condemned_for 'r2 found slot s of k done with 137 by r1, whose job ended with nothing'
}

@test "those who share a slot and were told of two ends" {
  a_slot
  a_slot_run r5 3100 4000 0
  attempt_of r5 3200 3900 30 3 0
  SHARES=true finds_done r6 3950 4100 0 r5 30 0
  condemned_for 'those who share slot s of k were told of 3 by r2 and of 0 by r5'
  fault wipe 3050 3060
  judge
  assert_success
}

@test "attempts that do not grow, or are not told" {
  a_slot
  sed -i '/"run": "r2"/s/"attempt": 2/"attempt": 1/' "$T/records"
  condemned_for 'the attempts for slot s of k do not grow: 1 (r1), 1 (r2)'
  sed -i '/"run": "r2"/s/"attempt": 1/"attempt": null/' "$T/records"
  condemned_for 'r2 was told no attempt for slot s of k'
}

@test "a slot that somebody waited for and nobody ran" {
  a_good_history
  a_slot_run r3 1000 1500 75
  sed -i '/"start", "run": "r3"/s/"waits": 5/"waits": 0/' "$T/records"
  judge
  assert_success
  finds_done r4 3000 3100 0 nobody 1 0
  condemned_for 'slot s of k was missed, although r4 waited for it'
}

# looks BEGIN END ALL [RUN]: what rlock log said of the key k; ALL and RUN as JSON.
looks() {
  record "$2" look '' k "\"since\": ${1}000000, \"all\": [$3], \"runs\": [${4:-}]"
}

@test "a log that tells what the jobs tell" {
  a_good_history
  a_run r3 k 3000 4000 -9
  section r3 k 3100 3800 30
  fault kill-rlock 3700 3710 r3
  a_slot_run r4 3900 6000 3
  attempt_of r4 5800 5900 40 1 3
  looks 1500 1510 '"r1"' '["r1", "t", 10, "running", null, null, null]'
  looks 3050 3060 '"r2", "r1"' '["r2", "t2", 20, "exited", 3, null, null], ["r1", "t1", 10, "exited", 0, null, null]'
  looks 6000 6010 '"r4", "r3", "r2", "r1"' \
    '["r4", "r4", 40, "exited", 3, "s", 1], ["r3", "t3", 30, "lost", null, null, null]'
  sed -i -E '/"run": "r([123])"/s/"run": "r([123])"(.*)"token": "t"/"run": "r\1"\2"token": "t\1"/; s/"r1", "t", 10/"r1", "t1", 10/' "$T/records"
  judge
  assert_success
  assert_output --partial 'runs remembered: 4'
  assert_output --partial 'of them lost: 1'
}

@test "a log that lies: another code, a loss that nothing caused, another grant, slot or attempt, a run that never was" {
  a_good_history
  a_slot_run r3 3000 4000 0
  attempt_of r3 3100 3900 30 1 0
  looks 4100 4110 '"r3", "r2", "r1"' '["r1", "t", 10, "exited", 4, null, null]'
  condemned_for 'the log says of r1: exited 4; its job ended with 0'
  looks 4200 4210 '"r3", "r2", "r1"' '["r1", "t", 10, "lost", null, null, null]'
  condemned_for 'the log says of r1: lost None; nothing took the lock away'
  looks 4300 4310 '"r3", "r2", "r1"' '["r1", "t", 11, "exited", 0, null, null]'
  condemned_for 'the log says of r1: exited 0; its job was told of another grant: 10'
  looks 4400 4410 '"r3", "r2", "r1"' '["r1", "t", 10, "running", null, null, null]'
  condemned_for 'the log says of r1: running None; it had ended'
  looks 4500 4510 '"r3", "r2", "r1"' '["r3", "r3", 30, "exited", 0, "s", 2], ["r1", "t", 10, "cancelled", null, null, null]'
  condemned_for 'the log says of r1: cancelled None; nobody did that'
  assert_output --partial 'the log says of r3: exited 0; its job was told of attempt 1'
  looks 4600 4610 '"r3", "r2", "r1"' '["r3", "r3", 30, "exited", 0, "t", 1], ["r9", "u", 9, "exited", 0, null, null]'
  condemned_for 'the log says of r3: exited 0; it was for k, slot s'
  assert_output --partial 'the log says of r9: exited 0; there was no such run'
}

@test "a run that the log has lost, and one that a server forgot" {
  a_good_history
  looks 3100 3110 '"r2"'
  condemned_for 'the log of k does not know r1, which ended before'
  fault wipe 2000 2010
  judge
  assert_success
}

@test "a log that has an earlier grant of a run, which something took away before its job began" {
  # granted_twice FAULT-BEGIN OUTCOME FENCE [VIA]: r3 by the log, before it was granted 30.
  granted_twice() {
    rm -f "$T/records"
    a_good_history
    VIA=${4:-direct} a_run r3 k 3000 6000 0
    section r3 k 5000 5900 30 0
    fault pause-rlock "$1" 5100 r3
    looks 6100 6110 '"r3", "r3", "r2", "r1"' "[\"r3\", \"t0\", $3, \"$2\", null, null, null]"
  }
  local outcome
  for outcome in lost running; do
    granted_twice 5000 $outcome 25
    judge
    assert_success
    granted_twice 5001 $outcome 25
    condemned_for "the log says of r3: $outcome None; its job was told of another grant: 30"
  done
  granted_twice 5000 lost 31
  condemned_for 'the log says of r3: lost None; its job was told of another grant: 30'
  granted_twice 5000 released 25
  condemned_for 'the log says of r3: released None; its job was told of another grant: 30'
  granted_twice 5001 lost 31 quorum
  judge
  assert_success
}

# many_runs: r3 to r50, one after the other; `logged NAME...` has all of them in the log, and these.
many_runs() {
  local number
  for ((number = 3; number < 51; ++number)); do
    a_run "r$number" k "$((number * 1000))" "$((number * 1000 + 900))" 0
    section "r$number" k "$((number * 1000 + 100))" "$((number * 1000 + 800))" "$((number * 10))" 0
  done
}

logged() {
  sed -i '/"look"/d' "$T/records"
  looks 51000 51010 "$(printf '"r%s",' {3..50})$(printf '"%s",' "$@" | sed 's/,$//')"
}

@test "a log that is full of entries, two of one run, may have dropped older runs; one with a place left may not" {
  a_good_history
  many_runs
  logged r50
  condemned_for 'the log of k does not know r1, which ended before'
  logged r50 r49
  judge
  assert_success
}

@test "a full log may hide a grant whose run waits again, on servers that elect a leader" {
  # waits_again VIA FAULT-BEGIN
  waits_again() {
    rm -f "$T/records"
    a_good_history
    many_runs
    VIA=$1 a_run r51 k 50850 52000 0
    section r51 k 51500 51900 510 0
    fault pause-rlock "$2" 51400 r51
    logged r50
  }
  local via
  for via in etcd zk; do
    waits_again $via 51010
    judge
    assert_success
    waits_again $via 51011
    condemned_for 'the log of k does not know r1, which ended before'
  done
  waits_again direct 51010
  condemned_for 'the log of k does not know r1, which ended before'
}

@test "a full log drops readers in the order of their grants, which is not that of their fences on servers that elect a leader" {
  # two_readers MODE VIA KEPT-BEGIN: r1, which is gone, began at 2500 ms; r2 with a lower fence is kept.
  two_readers() {
    local MODE=$1 VIA=$2 kept=$3
    rm -f "$T/records"
    MODE=x VIA=direct many_runs
    a_run r1 k 900 2600 0
    section r1 k 2500 2580 20 0
    a_run r2 k 900 2990 0
    section r2 k "$kept" 2950 10 0
    logged r2 r50
  }
  two_readers s etcd 1001
  judge
  assert_success
  two_readers s etcd 1000
  condemned_for 'the log of k does not know r1, which ended before'
  two_readers s direct 2600
  condemned_for 'the log of k does not know r1, which ended before'
  two_readers x etcd 2600
  condemned_for 'the log of k does not know r1, which ended before'
}

# daemon_of NAME: the process of that job that has a session of its own.
daemon_of() {
  ps -e -o pid=,sid=,args= | awk -v job="$T/job" -v name="$1" '$1 == $2 && $3 == job && $4 == name {print $1}'
}

has_daemon() {
  [[ -n $(daemon_of "$1") ]]
}

@test "a job records its end after its daemon has ended, whether told to or killed" {
  local job daemon
  gcc -O2 -o "$T/job" "$REPO/tests/chaos/job.c"
  "$T/job" told k x 300 0 d "$T/resource" "$T/records" 3>&- &
  job=$!
  wait_until has_daemon told
  daemon=$(daemon_of told)
  kill -STOP "$daemon"
  sleep 1
  ! grep '"leave"' "$T/records" || fail 'it did not wait for its daemon'
  kill -CONT "$daemon"
  wait "$job"
  [[ $(tail -n 1 "$T/records") == *'"leave", "run": "told"'* ]]
  "$T/job" killed k x 1000 3 d "$T/resource" "$T/records" 3>&- &
  job=$!
  wait_until has_daemon killed
  kill -KILL "$(daemon_of killed)"
  status=0
  wait "$job" || status=$?
  assert_equal "$status" 3
  [[ $(tail -n 1 "$T/records") == *'"leave", "run": "killed"'* ]]
}
