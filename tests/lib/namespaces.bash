# shellcheck shell=bash
# A PID namespace, for rlock as its process 1; loaded after lib/rlock.

# need_namespaces: INSIDE is what a command is started with there.
# The first child of an unshare is PID 1 inside, by its number outside.
# In a bare chroot the root directory is no mount point, whose propagation could be changed.
need_namespaces() {
  local flags=(--pid --fork --mount-proc --kill-child)
  INSIDE=(unshare "${flags[@]}")
  if ((EUID != 0)); then
    INSIDE=(unshare --map-root-user "${flags[@]}")
  elif ! "${INSIDE[@]}" true 2>/dev/null; then
    INSIDE=(unshare --propagation unchanged "${flags[@]}")
  fi
  "${INSIDE[@]}" true || skip "PID namespaces are not permitted here"
}

# enter PID COMMAND...: in the namespace that the process is in, as docker exec does
enter() {
  local pid=$1 own=()
  shift
  ((EUID == 0)) || own=(--user --preserve-credentials)
  nsenter --target "$pid" --pid "${own[@]}" "$@"
}
