#!/usr/bin/env bats
# Command line before environment before config files, user's before system's; named files stand alone.
load ../lib/rlock

# The lease in whole seconds that a run with these arguments gets.
lease_of() {
  local kept
  kept=$(rlock "$@" -k "$K" -- redis-cli -s "$SERVER/redis.sock" pttl "$K") || return
  echo $(((kept + 999) / 1000))
}

assert_lease() {
  local wanted=$1 got
  shift
  got=$(lease_of "$@")
  ((got > wanted - 5 && got <= wanted)) || fail "lease $got, not $wanted"
}

user_config() {
  mkdir -p "$HOME/.config/rlock"
  cat >"$HOME/.config/rlock/rlock.conf"
}

@test "the command line comes before the environment, that before the config" {
  user_config <<<'ttl = 100s'
  assert_lease 100
  RLOCK_TTL=200s assert_lease 200
  RLOCK_TTL=200s assert_lease 300 -t 300s
}

@test "a config file has names of the long options, comments and blank lines" {
  user_config <<CONF
# the fleet's server
server = unix://$SERVER/redis.sock

  ttl=100s
conflict-exit-code =   9
label = night batch
CONF
  unset RLOCK_SERVER
  assert_lease 100
  redis set "$K" somebody px 60000
  attempt -k "$K" -- true
  assert_equal "$status" 9
  redis del "$K"
  run rlock -k "$K" -- sh -c 'echo "$RLOCK_TOKEN"'
  assert_output --partial '/night batch#'
}

@test "XDG_CONFIG_HOME is where the user's file is looked for" {
  mkdir -p "$T/xdg/rlock"
  echo 'ttl = 150s' >"$T/xdg/rlock/rlock.conf"
  user_config <<<'ttl = 100s'
  XDG_CONFIG_HOME=$T/xdg assert_lease 150
}

@test "a file named by --config or RLOCK_CONFIG stands alone" {
  user_config <<<'ttl = 100s'
  echo '# nothing' >"$T/empty"
  echo 'ttl = 200s' >"$T/named"
  echo 'ttl = 250s' >"$T/other"
  assert_lease 30 --config "$T/empty"
  assert_lease 200 --config "$T/named"
  RLOCK_CONFIG=$T/named assert_lease 200
  RLOCK_CONFIG=$T/named assert_lease 250 --config "$T/other"
}

@test "a named file that is missing exits 78" {
  attempt --config "$T/missing" -k "$K" -- touch "$T/ran"
  assert_equal "$status" 78
  assert_one_stderr_line "$T/missing"
  RLOCK_CONFIG=$T/missing attempt -k "$K" -- touch "$T/ran"
  assert_equal "$status" 78
  [[ ! -e $T/ran ]]
}

@test "a config error names the file, exits 78 and touches nothing" {
  local bad
  unset RLOCK_SERVER # it would come before the file's
  for bad in 'nonsense' 'ttl' 'ttl = 5x' 'colour = red' 'on-lost = explode' '= 5' 'key = x' 'server = http://x'; do
    printf '# one\n%s\n' "$bad" >"$T/conf"
    attempt --config "$T/conf" -k "$K" -- touch "$T/ran"
    assert_equal "$status" 78
    assert_one_stderr_line "$T/conf:2"
    [[ ! -e $T/ran ]]
  done
}

@test "a name that is almost one of a config file gets the right one" {
  printf 'tlt = 5s\n' >"$T/conf"
  attempt --config "$T/conf" -k "$K" -- touch "$T/ran"
  assert_equal "$status" 78
  assert_one_stderr_line "$T/conf:1: 'tlt' is not valid; did you mean 'ttl'?"
  printf 'TTL = 5s\n' >"$T/conf"
  attempt --config "$T/conf" -k "$K" -- touch "$T/ran"
  assert_equal "$status" 78
  assert_one_stderr_line "$T/conf:1: 'TTL' is not valid; did you mean 'ttl'?"
  [[ ! -e $T/ran ]]
}

@test "the byte order mark of an editor on Windows is no part of the first name" {
  printf '\xef\xbb\xbfttl = 200s\r\n' >"$T/conf"
  assert_lease 200 --config "$T/conf"
}

# A root directory that holds rlock, a shell, and the libraries of both: /etc is the test's own there.
build_root() {
  local program file
  mkdir -p "$T/root/proc" "$T/root/etc" "$T/root/home"
  cp /etc/passwd "$T/root/etc"
  for program in "$RLOCK_BIN" /bin/sh; do
    for file in "$program" $(ldd "$program" | grep -oE '/[^ ]+'); do
      install -D "$file" "$T/root$file"
    done
  done
  start_redis "$T/root/srv"
  OWN_SERVERS+=("$T/root/srv")
  use_server "$T/root/srv"
}

# in_root ARG...: rlock there. With /proc, which the sanitizers need; in a mount namespace if the system allows one.
in_root() {
  local inside=()
  if ((EUID != 0)); then
    inside=(unshare --map-root-user --mount)
  elif unshare --mount true 2>/dev/null; then
    inside=(unshare --mount)
  fi
  HOME=/home RLOCK_SERVER=unix:///srv/redis.sock "${inside[@]}" sh -c 'mount --rbind /proc "$T/root/proc"
    status=0
    chroot "$T/root" "$RLOCK_BIN" "$@" || status=$?
    umount -l "$T/root/proc"
    exit $status' _ "$@"
}

@test "several server lines are a quorum, any other name given twice is refused" {
  printf 'server = %s\nserver = redis://127.0.0.1:1\nserver = redis://127.0.0.1:2\n' "$RLOCK_SERVER" >"$T/conf"
  chmod go-w "$T/conf"
  run -69 env -u RLOCK_SERVER "$RLOCK_BIN" --config "$T/conf" -k "$K" true
  printf 'ttl = 20s\nttl = 30s\n' >"$T/conf"
  run -78 "$RLOCK_BIN" --config "$T/conf" -k "$K" true
}

@test "the system's file is read, the user's value comes first" {
  build_root
  printf 'label = system\nconflict-exit-code = 9\n' >"$T/root/etc/rlock.conf"
  run in_root -k "$K" -- sh -c 'echo "$RLOCK_TOKEN"'
  assert_output --partial '/system#'
  mkdir -p "$T/root/home/.config/rlock"
  echo 'label = mine' >"$T/root/home/.config/rlock/rlock.conf"
  run in_root -k "$K" -- sh -c 'echo "$RLOCK_TOKEN"'
  assert_output --partial '/mine#'
  redis set "$K" other px 60000
  run in_root -q -k "$K" -- true
  assert_equal "$status" 9
  : >"$T/root/named"
  run in_root -q --config /named -k "$K" -- true
  assert_equal "$status" 75
}

@test "every option has its variable" {
  redis set "$K" somebody px 60000
  RLOCK_CONFLICT_EXIT_CODE=9 attempt -k "$K" -- true
  assert_equal "$status" 9
  RLOCK_WAIT=100ms attempt -k "$K" -- true
  assert_stderr_line "gave up on '$K' after 100ms"
  RLOCK_QUIET=1 attempt -k "$K" -- true
  assert_equal "$status" 75
  assert_silent
  redis del "$K"
  RLOCK_LABEL=night run rlock -k "$K" -- sh -c 'echo "$RLOCK_TOKEN"'
  assert_output --partial '/night#'
  RLOCK_VERBOSE=1 attempt -k "$K" -- true
  [[ -n $stderr ]]
  RLOCK_TTL=10s RLOCK_GRACE=6s attempt -k "$K" -- true
  assert_equal "$status" 64
}

@test "a variable for the job is never read as an option" {
  RLOCK_KEY=other RLOCK_TOKEN=x RLOCK_FENCE=y RLOCK_HELD=0 run rlock -k "$K" -- sh -c 'echo "$RLOCK_KEY $RLOCK_HELD"'
  assert_output "$K 1"
  RLOCK_KEY=$K attempt -- true
  assert_equal "$status" 64
}

@test "a HOME that may not be looked into is named, with what to do" {
  local as=()
  own_server
  mkdir -m 700 "$T/root"
  if ((EUID == 0)); then
    as=(setpriv --reuid 65534 --regid 65534 --clear-groups)
  else
    chmod 000 "$T/root"
  fi
  chmod 755 "$T" "$HOME"
  HOME=$T/root run -78 --separate-stderr "${as[@]}" "$RLOCK_BIN" -k "$K" -- touch "$T/ran"
  assert_one_stderr_line "cannot look for a config file in HOME=$T/root: Permission denied; correct HOME, or name the file: --config FILE"
  [[ $stderr != *rlock.conf* ]]
  HOME=$T/none XDG_CONFIG_HOME=$T/root run -78 --separate-stderr "${as[@]}" "$RLOCK_BIN" -k "$K" -- touch "$T/ran"
  assert_one_stderr_line "cannot look for a config file in XDG_CONFIG_HOME=$T/root: Permission denied; correct XDG_CONFIG_HOME"
  [[ ! -e $T/ran ]]
  HOME=$T/root run -0 --separate-stderr "${as[@]}" "$RLOCK_BIN" --config /dev/null -k "$K" -- echo ran
  assert_output ran
}

@test "RLOCK_KEY and RLOCK_SLOT outside of a job are refused like the other options of one run" {
  RLOCK_SLOT=@day attempt -k "$K" -- touch "$T/ran"
  assert_equal "$status" 64
  assert_one_stderr_line 'RLOCK_SLOT has no effect: give --slot on the command line'
  RLOCK_KEY=other attempt -k "$K" -- touch "$T/ran"
  assert_equal "$status" 64
  assert_one_stderr_line 'RLOCK_KEY has no effect: give --key on the command line'
  [[ ! -e $T/ran ]]
  RLOCK_SLOT=@day attempt list
  assert_success
  assert_stderr_line 'RLOCK_SLOT has no effect: give --slot on the command line'
  attempt -k "$K" --slot s -- "$RLOCK_BIN" -k "$K:inner" -- sh -c 'echo "$RLOCK_KEY"'
  assert_output "$K:inner"
  run bash -c 'eval "$("$RLOCK_BIN" acquire --export -k "$K:step" --ttl 60s)" && "$RLOCK_BIN" -k "$K:inner" -- true &&
    "$RLOCK_BIN" release'
  assert_success
  RLOCK_KEY=$K:none attempt release --token x
  assert_stderr_line "$K:none"
}

@test "--quiet says nothing on busy, --verbose says more" {
  redis set "$K" somebody px 60000
  attempt -q -k "$K" -- true
  assert_equal "$status" 75
  assert_silent
  redis del "$K"
  attempt -v -k "$K" -- echo ran
  assert_output ran
  [[ $stderr == 'rlock: '* ]]
}

@test "local-gate may stand in a config file, as the man page says" {
  user_config <<<'local-gate = yes'
  attempt -k "$K" -- echo ran
  assert_success
  assert_output ran
}

@test "every option in the man page's list of config names is taken there, and the other way round" {
  local name
  sed 's/\\-/-/g' "$REPO/man/rlock.conf.5" | sed -n '/^The names are those of the long options:/,/^A line that begins/p' |
    grep '^\.Cm' | sed 's/^\.Cm //' | tr -d ' .' | tr ',' '\n' | sed '/^$/d' | sort >"$T/man"
  echo 'nonsense = 1' >"$T/conf"
  attempt --config "$T/conf" -k "$K" -- true
  tr -d ' ' <<<"${stderr##*expected }" | tr ',' '\n' | sort >"$T/accepted"
  [[ -s $T/man ]]
  diff "$T/man" "$T/accepted"
}

@test "a variable of an option that only the command line has is refused, not ignored" {
  local variable
  for variable in RLOCK_SHARED RLOCK_EXCLUSIVE RLOCK_PERMITS RLOCK_STATUS_FILE RLOCK_NONBLOCK RLOCK_C; do
    status=0
    env "$variable=1" "$RLOCK_BIN" -k "$K" -- touch "$T/ran" 2>"$T/err" || status=$?
    assert_equal "$status" 64
    grep -q "$variable" "$T/err"
    [[ ! -e $T/ran ]]
  done
}

@test "a variable of an option that only another command's line has gets a line, unless --quiet" {
  local variable option
  for variable in RLOCK_JSON RLOCK_AT_LEAST RLOCK_EXPORT RLOCK_GITHUB_OUTPUT RLOCK_YES; do
    option=${variable#RLOCK_} option=--${option//_/-}
    export "$variable=1"
    attempt -k "$K" -- echo ran
    assert_success
    assert_output ran
    assert_one_stderr_line "$variable has no effect: give ${option,,} on the command line"
    attempt -q -k "$K" -- true
    assert_silent
    unset "$variable"
  done
  RLOCK_SHARED=1 attempt list "$K"
  assert_success
  assert_stderr_line 'RLOCK_SHARED has no effect: give --shared on the command line'
  RLOCK_SHARED=1 attempt inspect -q "$K"
  assert_equal "$status" 1
  assert_silent
  RLOCK_JSON=1 attempt list
  assert_equal "$status" 64
  assert_one_stderr_line RLOCK_JSON
  # That of another command which reads it says nothing.
  RLOCK_TTL=5s RLOCK_WAIT=1m attempt inspect "$K"
  assert_silent
}

@test "--reentrant may come from a variable, for a whole job" {
  RLOCK_REENTRANT=yes attempt -k "$K" -- "$RLOCK_BIN" -k "$K" -- echo inside
  assert_success
  assert_output inside
}

@test "a RLOCK_ variable that is none gets a line, unless --quiet, and what a job is told gets none" {
  RLOCK_TLL=5s attempt -k "$K" -- echo ran
  assert_success
  assert_output ran
  assert_one_stderr_line 'RLOCK_TLL' 'did you mean RLOCK_TTL?'
  RLOCK_TLL=5s attempt -q -k "$K" -- true
  assert_silent
  attempt -k "$K" -- "$RLOCK_BIN" -k "$K:b" -- "$RLOCK_BIN" -k "$K:c" -k "$K:d" -- "$RLOCK_BIN" check
  assert_success
  assert_silent
}

@test "quiet and verbose from one place contradict each other, from two the nearer one counts" {
  RLOCK_QUIET=1 RLOCK_VERBOSE=yes attempt -k "$K" -- touch "$T/ran"
  assert_equal "$status" 64
  assert_one_stderr_line 'RLOCK_QUIET and RLOCK_VERBOSE contradict each other'
  printf 'quiet = yes\nverbose = on\n' >"$T/conf"
  attempt --config "$T/conf" -k "$K" -- touch "$T/ran"
  assert_equal "$status" 78
  assert_one_stderr_line "$T/conf:1: quiet and $T/conf:2: verbose contradict each other"
  [[ ! -e $T/ran ]]
  echo 'quiet = yes' >"$T/conf"
  RLOCK_VERBOSE=1 attempt --config "$T/conf" -k "$K" -- true
  assert_success
  [[ -n $stderr ]]
  RLOCK_VERBOSE=1 attempt --config "$T/conf" -q -k "$K" -- true
  assert_silent
  RLOCK_VERBOSE=0 attempt --config "$T/conf" -k "$K" -- true
  assert_silent
  build_root
  mkdir -p "$T/root/home/.config/rlock"
  echo 'verbose = yes' >"$T/root/home/.config/rlock/rlock.conf"
  echo 'quiet = yes' >"$T/root/etc/rlock.conf"
  run in_root -k "$K" -- sh -c :
  assert_success
  [[ -n $output ]]
}

@test "a NUL in a config file is refused with file and line, before another directory is used than is shown: 78" {
  mkdir "$T/locks" "$T/other"
  printf '# ours\nserver = file://%s/locks\0/../other\n' "$T" >"$T/conf"
  attempt --config "$T/conf" -k "$K" -- touch "$T/ran"
  assert_equal "$status" 78
  assert_one_stderr_line "$T/conf:2: " 'without a NUL byte'
  [[ ! -e $T/ran && -z $(find "$T/locks" "$T/other" -mindepth 1) ]]
}
