# shellcheck shell=bash
# The fault proxy, the terminal and the embedded scripts, as tests use them.

# start_proxy: a fault proxy in front of the server; rlock talks through it, redis() does not.
start_proxy() {
  start_proxy_between "unix:$SERVER/proxy.sock" "unix:$SERVER/redis.sock"
  export RLOCK_SERVER=unix://$SERVER/proxy.sock
}

# start_proxy_between HERE THERE: each unix:PATH or tcp:PORT
start_proxy_between() {
  local here=$1 there=$2
  mkfifo "$T/proxy.control"
  : >"$T/proxy.log"
  launch proxy "$PYTHON" "$LIB/proxy.py" "$here" "$there" "$T/proxy.control" "$T/proxy.log"
  wait_until says "$T/proxy.log" 'listening'
}

# proxy MODE [ARG...]: returns when the mode is on.
proxy() {
  local marker
  marker=$(grep -c '^mode ' "$T/proxy.log" || true)
  echo "$*" >"$T/proxy.control"
  wait_until modes_switched "$marker"
}

modes_switched() {
  local before=$1
  (($(grep -c '^mode ' "$T/proxy.log") > before))
}

stop_proxy() {
  kill "${PIDS[proxy]}"
  wait_until gone "${PIDS[proxy]}"
}

# in_terminal STEP... -- COMMAND: see lib/terminal.py
in_terminal() {
  "$PYTHON" "$LIB/terminal.py" "$@" 3>&-
}

# interactive_shell: SHELL_THERE is a shell with job control for in_terminal; its prompt is "ready> ".
interactive_shell() {
  echo "PS1='ready> '; set -b; set +o history" >"$T/rc"
  SHELL_THERE=(bash --noprofile --rcfile "$T/rc" -i)
}

# script NAME ARG...: one of the embedded scripts, behind its parts, on the keys of $K.
script() {
  local name=$1 lua=$REPO/src/store/redis/lua
  local -a parts
  shift
  read -ra parts <"$lua/$name.lua"  # -- parts: keys mail
  parts=("${parts[@]:2}")
  parts=("${parts[@]/#/$lua/parts/}")
  cat "${parts[@]/%/.lua}" "$lua/$name.lua" >"$T/$name.lua"
  redis --raw --eval "$T/$name.lua" "$K" "$(companion "$K" queue)" "$(companion "$K" alive)" \
    "$(companion "$K" fence)" "$(companion "$K" held)" "$(companion "$K" grants)" "$(companion "$K" runs)" , \
    "$(companion "$K" mail):" "$@" |
    paste -sd' '
}

# field NAME ANSWER: what an answer of a script says of it; empty if nothing.
field() {
  local name=$1 answer=$2
  [[ " $answer " =~ " $name "([^ ]+) ]] && printf '%s' "${BASH_REMATCH[1]}"
}

# promtool ARGUMENT...: the distribution's, or the one of scripts/install-promtool.
promtool() {
  local tool
  tool=$(type -P promtool) || tool=$REPO/build/prometheus/bin/promtool
  [[ -x $tool ]] || skip 'no promtool here: scripts/install-promtool'
  "$tool" "$@"
}

# sanitized: whether rlock was built with a sanitizer.
sanitized() {
  grep -qaE '__(asan|tsan)_init' "$RLOCK_BIN"
}
