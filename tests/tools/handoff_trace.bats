#!/usr/bin/env bats
# The picture that scripts/bench handoff --trace makes of the kernel's trace, by scripts/benchmark/trace.py.
load ../lib/rlock

# One hand-off: rlock 10 with guardian 11 and job 12, then rlock 20, 21, 22, and the server 5; its last stamp at 2000 us.
# Lines of others are between them: another process that is woken, and a line that is cut short.
hand_off() {
  cat << 'END'
# tracer: nop
           rlock-10  [000] ..... 1.000000: sched_process_fork: comm=rlock pid=10 child_comm=rlock child_pid=11
        guardian-11  [000] ..... 1.000010: sched_process_fork: comm=rlock pid=11 child_comm=rlock child_pid=12
           stamp-12  [000] ..... 1.000020: sched_process_exec: filename=/s/stamp pid=12 old_pid=12
           stamp-12  [000] ..... 1.001000: sched_process_exit: comm=stamp pid=12 prio=139 group_dead=true
           stamp-12  [000] d..2. 1.001100: sched_switch: prev_comm=stamp prev_pid=12 prev_prio=1 prev_state=Z ==> next_comm=guardian next_pid=11 next_prio=1
        guardian-11  [000] d..2. 1.001150: sched_switch: prev_comm=guardian prev_pid=11 prev_prio=1 prev_state=S ==> next_comm=rlock next_pid=10 next_prio=1
           rlock-10  [000] ..... 1.001200: sys_enter: NR 44 (4, 55557975a595, 1c0, 0, 0, 0)
    redis-server-5   [001] ..... 1.001230: sys_exit: NR 0 = 448
    redis-server-5   [001] d..3. 1.001300: sched_waking: comm=rlock pid=30 prio=139 target_cpu=000
    redis-server-5   [001] d..3. 1.001310: sched_waking: comm=rlock pid=20 prio=139 target_cpu=000
          <idle>-0   [000] d..2. 1.001340: sched_switch: prev_comm=x prev_pid=0 prev_prio=1 prev_state=R ==> next_comm=rlock next_pid=20 next_prio=1
           rlock-20  [000] ..... 1.001360: sys_enter: NR 44 (4, 55558d725d75, 1d6, 0, 0, 0)
    redis-server-5   [001] ..... 1.001370: sys_exit: NR 0 = 470
    redis-server-5   [001] d..3. 1.001440: sched_waking: comm=rlock pid=20 prio=139 target_cpu=000
          <idle>-0   [000] d..2. 1.001450: sched_switch: prev_comm=x prev_pid=0 prev_prio=1 prev_state=R ==> next_comm=rlock next_pid=20 next_prio=1
           rlock-20  [000] ..... 1.001500: sched_process_fork: comm=rlock pid=20 child_comm=rlock child_pid=21
        guardian-21  [000] ..... 1.001600: sched_process_fork: comm=rlock pid=21 child_comm=rlock child_pid=22
           stamp-22  [000] ..... 1.001800: sched_process_exec: filename=/s/stamp pid=22 old_pid=22
           stamp-22  [000] ..... 1.01
END
}

# Writes the picture of what comes in, with the processes' names as they are in hand_off.
pictured() {
  PYTHONPATH="$REPO/scripts/benchmark" BENCH_RLOCK=/s/rlock BENCH_DIR=/s BENCH_PORT=1 python3 -B -c '
import sys, trace
seen = trace.Trace(list(trace.events_of(sys.stdin)), 5)
found = seen.handoffs([(1_000_050_000, 1_000_990_000, "a"), (1_002_000_000, 1_003_000_000, "b")])
print(len(found))
for line in trace.picture(found) if found else ():
    print(line)'
}

@test "a hand-off's steps have their time since the last job's end" {
  run --separate-stderr pictured < <(hand_off)
  assert_equal "$stderr" ''
  assert_line --index 0 1
  step() { sed -nE "s/^ *([0-9]+) +([0-9]+)  [ #]+  $1\$/\1 \2/p" <<< "$output"; }
  assert_equal "$(step 'its guardian runs')" '100 100'
  assert_equal "$(step 'its rlock runs')" '150 50'
  assert_equal "$(step 'its rlock sends the release')" '200 50'
  assert_equal "$(step 'the server reads it')" '230 30'
  assert_equal "$(step 'the server wakes the next one')" '310 80'
  assert_equal "$(step 'the next one runs')" '340 30'
  assert_equal "$(step 'the next one asks')" '360 20'
  assert_equal "$(step 'the server answers')" '440 80'
  assert_equal "$(step 'the next one reads that')" '450 10'
  assert_equal "$(step 'it has forked a guardian')" '500 50'
  assert_equal "$(step 'which has forked the job')" '600 100'
  assert_equal "$(step 'which is loaded')" '800 200'
  assert_equal "$(step 'the job runs')" '1000 200'
}

@test "a hand-off that lacks a step counts as not seen" {
  run --separate-stderr pictured < <(hand_off | grep -v 'sys_enter: NR 44 (4, 55558d725d75')
  assert_equal "$output" 0
}

@test "a guardian that is forked before the answer stands before it" {
  run --separate-stderr pictured < <(hand_off | sed 's/1\.001500: sched_process_fork/1.001380: sched_process_fork/')
  local -a steps
  mapfile -t steps < <(sed -E 's/^ *[0-9]+ +[0-9]+  [ #]+  //' <<< "$output")
  assert_equal "${steps[10]}" 'it has forked a guardian'
  assert_equal "${steps[11]}" 'the server answers'
}
