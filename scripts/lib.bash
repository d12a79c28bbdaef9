# shellcheck shell=bash
# What the scripts share. Source it; it changes into the top of the checkout.

set -euo pipefail
script=$(realpath "$0")
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# Messages go to stderr, so that stdout stays that of the job.
say() { printf '%s\n' "$*" >&2; }

die() {
  say "${0##*/}: $*"
  exit 1
}

# quietly NAME COMMAND...: run COMMAND with its output in build/log/NAME.log, shown only on failure; meanwhile its
# progress is told. A function run this way joins its steps with &&: bash ignores `set -e` inside it.
quietly() {
  local name=$1 log=build/log/$1.log status=0 teller
  shift
  mkdir -p build/log
  : >"$log"
  tell_progress "$name" "$log" "$$" &
  teller=$!
  "$@" >"$log" 2>&1 </dev/null || status=$?
  kill "$teller" 2>/dev/null || true
  wait "$teller" 2>/dev/null || true
  if ((status != 0)); then
    cat "$log" >&2
    say "${0##*/}: $name failed with exit code $status; the output above is also in $log"
  fi
  return "$status"
}

# tell_progress NAME LOG PID: the seconds and the build tool's step ("[12/40]"), until it is killed or PID is gone. A
# terminal has one line, rewritten each second; a log gets a line each 20 s, so that nobody takes a build for hung.
tell_progress() {
  local name=$1 log=$2 owner=$3 from=$SECONDS step spent
  trap '[[ ! -t 2 ]] || printf "\r\033[K" >&2; kill %1 2>/dev/null; exit 0' TERM
  while kill -0 "$owner" 2>/dev/null; do
    sleep 1 &
    wait "$!"
    spent=$((SECONDS - from))
    step=$(grep -oE '^\[ *[0-9]+(/[0-9]+|%)\]' "$log" 2>/dev/null | tail -n 1) || true
    if [[ -t 2 ]]; then
      printf '\r\033[K%s: %s s %s' "$name" "$spent" "$step" >&2
    elif ((spent > 0 && spent % 20 == 0)); then
      say "$name: $spent s $step"
    fi
  done
}

# usage CODE: print the comment at the top of the calling script and leave.
usage() {
  local code=$1
  sed -n '2,/^[^#]/{s/^# \{0,1\}//p}' "$script"
  exit "$code"
}
