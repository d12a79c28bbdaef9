# shellcheck shell=bash
# Two versions of rlock, as in a fleet that is being upgraded: `new` is the one under test, `old` the one that
# scripts/build-previous builds, or PREVIOUS_BIN.

find_versions() {
  NEW_BIN=$RLOCK_BIN
  PREVIOUS_BIN=${PREVIOUS_BIN:-$("$REPO/scripts/build-previous")} || return 1
  export NEW_BIN PREVIOUS_BIN
}

# as VERSION COMMAND [ARG...]: COMMAND (start, hold, attempt ...) with the rlock of this version.
as() {
  local version=$1
  local -x RLOCK_BIN=$NEW_BIN
  [[ $version == new ]] || RLOCK_BIN=$PREVIOUS_BIN
  shift
  "$@"
}

# each_way FUNCTION: once with the old version first, then the new one; once the other way round.
each_way() {
  "$1" old new
  "$1" new old
}

# A process of version VERSION that is killed with its guardian, as with its host.
kill_host_of() {
  local name=$1
  kill -KILL "${PIDS[$name]}" "$(guardian_of "$name")"
  wait_until gone "${PIDS[$name]}"
}
