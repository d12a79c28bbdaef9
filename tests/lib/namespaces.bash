# shellcheck shell=bash
# Commands in namespaces of their own, also in a bare chroot, whose root directory is no mount point: there unshare(1)
# cannot make the mounts private.

# own_mounts: INSIDE gives a command mounts of its own.
own_mounts() {
  INSIDE=(unshare --mount)
  if ((EUID != 0)); then
    INSIDE=(unshare --map-root-user --mount)
  elif ! "${INSIDE[@]}" true 2>/dev/null; then
    INSIDE=("$PYTHON" "$LIB/own_mounts.py")
  fi
  "${INSIDE[@]}" true || skip 'mount namespaces are not permitted here'
}

# own_pids: INSIDE makes a command PID 1, with a /proc of its own. The first child of the unshare is PID 1 inside, by
# its number outside.
own_pids() {
  local flags=(--pid --fork --mount-proc --kill-child)
  INSIDE=(unshare "${flags[@]}")
  if ((EUID != 0)); then
    INSIDE=(unshare --map-root-user "${flags[@]}")
  elif ! "${INSIDE[@]}" true 2>/dev/null; then
    INSIDE=(unshare --propagation unchanged "${flags[@]}") # --mount-proc makes /proc private in any case
  fi
  "${INSIDE[@]}" true || skip 'PID namespaces are not permitted here'
}

# enter PID COMMAND...: in the namespace that the process is in, as docker exec does
enter() {
  local pid=$1 own=()
  shift
  ((EUID == 0)) || own=(--user --preserve-credentials)
  nsenter --target "$pid" --pid "${own[@]}" "$@"
}
