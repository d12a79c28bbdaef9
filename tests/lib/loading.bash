# shellcheck shell=bash
# A command whose loading takes as long as a test wants.

# hanging_command [LINE]: $T/slow, a script of that line, cannot be executed before `break_lease`, as if its file server
# was silent (fcntl(2), F_SETLEASE: who opens the file waits for the lease's owner).
hanging_command() {
  # shellcheck disable=SC2016
  local line=${1:-'touch "$T/ran"'}
  printf '#!/bin/sh\n%s\n' "$line" >"$T/slow"
  chmod 755 "$T/slow"
  launch leaseholder "$PYTHON" -c '
import fcntl, os, signal, sys, time
signal.signal(signal.SIGIO, signal.SIG_IGN)
file = os.open(sys.argv[1], os.O_RDWR)
fcntl.fcntl(file, fcntl.F_SETLEASE, fcntl.F_WRLCK)
print("leased", flush=True)
time.sleep(40)' "$T/slow"
  wait_until says "$T/leaseholder.out" leased
}

break_lease() {
  kill "${PIDS[leaseholder]}"
  wait_until gone "${PIDS[leaseholder]}"
}

# loading NAME: rlock NAME has its guardian, and that one a process that hangs before it is the job; sets GUARDIAN, LOADING.
loading() {
  local name=$1
  GUARDIAN=$(guardian_of "$name")
  [[ -n $GUARDIAN ]] || return 1
  LOADING=$(first_child "$GUARDIAN")
  [[ -n $LOADING ]]
}
