# shellcheck shell=bash
# The recipes of rlock-recipes(7), taken from the page, and what plays cron, systemd and CI for them.

PAGE=$REPO/man/rlock-recipes.7

# block HEADING [N]: the Nth literal block below `.Ss HEADING`, as its reader sees it.
block() {
  local heading=$1 number=${2:-1}
  awk -v heading="$heading" -v number="$number" '
    /^\.S[sh] / { inside = substr($0, 5) == heading }
    /^\.Ed/ { literal = 0 }
    inside && literal && found == number { print; any = 1 }
    /^\.Bd -literal/ { literal = 1; found += inside }
    END { exit !any }' "$PAGE" | sed 's/\\-/-/g; s/\\&//g; s/\\e/\\/g' || fail "no block $number below '$heading'"
}

# recipe HEADING [N]: the same, at the server and the places of this test.
recipe() {
  block "$@" | here
}

here() {
  sed "s|redis://locks\\.example\\.net|$RLOCK_SERVER|; s|/opt/|$T/opt/|g; s|/var/lib/|$T/var/|g; s|/run/|$T/run/|g
       s|/usr/bin/rlock|$RLOCK_BIN|; s|^PATH=|PATH=$T/bin:|"
}

# at_home: rlock in PATH, a directory to work in, a server of its own, for many recipes have the same key; nobody waits
# long for the dead.
at_home() {
  own_server
  mkdir -p "$T/bin" "$T/opt" "$T/var" "$T/run" "$T/work"
  ln -sf "$RLOCK_BIN" "$T/bin/rlock"
  PATH=$T/bin:$PATH
  export RLOCK_TTL=2s
  cd "$T/work" || return
}

# program FILE: an executable with this text, below $T.
program() {
  mkdir -p "$(dirname "$T/$1")"
  cat >"$T/$1"
  chmod 755 "$T/$1"
}

# job FILE [CODE]: a program that writes `begin` and `end` to FILE.log, and runs until FILE.go exists.
job() {
  local file=$1 code=${2:-0}
  program "$file" <<END
#!/bin/sh
echo begin >>$T/$file.log
until [ -e $T/$file.go ]; do sleep 0.02; done
echo end >>$T/$file.log
exit $code
END
}

# lonely FILE: a program that writes `alone` to FILE.log, or `together` if another is running.
lonely() {
  program "$1" <<END
#!/bin/sh
if mkdir $T/inside; then echo alone; else echo together; fi >>$T/$1.log 2>/dev/null
sleep 0.1
rmdir $T/inside
END
}

assert_log() {
  local file=$1
  shift
  assert_equal "$(paste -sd ' ' <"$T/$file.log")" "$*"
}

begun() {
  local file=$1 times=$2
  [[ -e $T/$file.log ]] && (($(grep -c begin "$T/$file.log") == times))
}

# kill_host NAME: rlock and its guardian at once, as their host would take them along. The kernel kills the job.
kill_host() {
  kill -KILL "${PIDS[$1]}" "$(guardian_of "$1")"
  wait_until gone "${PIDS[$1]}"
}

# Each of these sets COMMAND, which `launch NAME "${COMMAND[@]}"` runs.

# cron_entry FILE WORD: as cron(8) runs the entry that has this word: FILE's variables and hardly any others, sh -c.
cron_entry() {
  local file=$1 word=$2 line
  COMMAND=(env -i HOME="$HOME" TEST_MARK="$TEST_MARK" RLOCK_TTL="$RLOCK_TTL" PATH="$PATH")
  while IFS= read -r line; do
    [[ ! $line =~ ^[A-Z_]+= ]] || COMMAND+=("$line")
  done <"$file"
  line=$(grep -E '^[0-9*]' "$file" | grep -F -e " $word")
  COMMAND+=(sh -c "$(cut -d ' ' -f 7- <<<"$line")")
}

# service FILE: what systemd starts for a unit. Its words have no quotes and no specifiers.
service() {
  local file=$1 words
  COMMAND=(env)
  mapfile -t -O 1 COMMAND < <(sed -n 's/^Environment=//p' "$file")
  read -ra words <<<"$(sed -n 's/^ExecStart=//p' "$file")"
  COMMAND+=("${words[@]}")
}

# setting FILE NAME: of a unit
setting() {
  sed -n "s/^$2=//p" "$1"
}

# yaml EXPRESSION <FILE: of the document d; a list is a line each, a dictionary NAME=VALUE lines
yaml() {
  "$PYTHON" -c '
import sys, yaml
d = yaml.safe_load(sys.stdin)
v = eval(sys.argv[1])
for each in v if isinstance(v, list) else [f"{k}={w}" for k, w in v.items()] if isinstance(v, dict) else [v]:
    print(each)' "$1"
}

# container FILE EXPRESSION: what Kubernetes runs for the container that the expression finds in the YAML.
container() {
  local file=$1 expression=$2 each
  COMMAND=(env)
  mapfile -t -O 1 COMMAND < <(yaml "[e['name'] + '=' + e['value'] for e in ${expression}['env']]" <"$file")
  mapfile -t ARGUMENTS < <(yaml "${expression}['command'] + ${expression}.get('args', [])" <"$file")
  for each in "${COMMAND[@]:1}"; do # $(NAME) is Kubernetes' own
    ARGUMENTS=("${ARGUMENTS[@]//"\$(${each%%=*})"/${each#*=}}")
  done
  COMMAND+=("${ARGUMENTS[@]}")
}

# github NAME FILE: the steps of FILE, in the background
github() {
  launch "$1" "$PYTHON" -B "$LIB/github.py" "$2" "$T/work" secrets.RLOCK_SERVER="$RLOCK_SERVER"
}
