# shellcheck shell=bash
# What the scripts share. Source it; it changes into the top of the checkout.

set -euo pipefail
script=$(realpath "$0")
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# All talk goes to stderr, so that the output of a job that a script runs stays the job's own.
say() { printf '%s\n' "$*" >&2; }

die() {
  say "${0##*/}: $*"
  exit 1
}

# quietly NAME COMMAND...: run COMMAND with its output in build/log/NAME.log, shown only on failure.
# A function run this way joins its steps with &&: bash ignores `set -e` inside it.
quietly() {
  local name=$1 log=build/log/$1.log status=0
  shift
  mkdir -p build/log
  "$@" >"$log" 2>&1 </dev/null || status=$?
  if ((status != 0)); then
    cat "$log" >&2
    say "${0##*/}: $name failed with exit code $status; the output above is also in $log"
  fi
  return "$status"
}

# usage CODE: print the comment at the top of the calling script and leave.
usage() {
  local code=$1
  sed -n '2,/^[^#]/{s/^# \{0,1\}//p}' "$script"
  exit "$code"
}
