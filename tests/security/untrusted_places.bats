#!/usr/bin/env bats
# A directory of locks that others may write to: whatever they put in the place of what rlock opens there, it reads,
# writes and gives away nothing else, and waits for nothing. Every path below it times everything that can be there.
load ../lib/rlock
load ../lib/local
load ../lib/others

THIRD=54322
GROUP=54399
TICKET=00000000000000000001

setup_locks() {
  ((EUID == 0)) || skip 'only root can become somebody else'
  let_others_in
  LOCKS=$T/locks
  export RLOCK_SERVER=file://$LOCKS
  PRECIOUS=$T/precious
}

# as_member UID COMMAND...: of the group that shares the directory
as_member() {
  local uid=$1
  shift
  setpriv --reuid "$uid" --regid "$uid" --groups "$GROUP" \
    env -i PATH="$PATH" TEST_MARK="$TEST_MARK" RLOCK_SERVER="$RLOCK_SERVER" "$@" 3>&-
}

# make_locks group|user: a directory of the group's, or SOMEBODY's own
make_locks() {
  rm -rf "$LOCKS"
  case $1 in
    group) install -d -o "$SOMEBODY" -g "$GROUP" -m 2770 "$LOCKS" ;;
    user) install -d -o "$SOMEBODY" -g "$SOMEBODY" -m 755 "$LOCKS" ;;
  esac
}

# make_precious OWNER: what no lock has to do with
make_precious() {
  rm -rf "$PRECIOUS"
  mkdir -m 700 "$PRECIOUS" "$PRECIOUS/empty" "$PRECIOUS/full"
  echo secret >"$PRECIOUS/full/ledger"
  echo secret >"$PRECIOUS/file"
  chmod 600 "$PRECIOUS/file" "$PRECIOUS/full/ledger"
  chown -R "$1:$1" "$PRECIOUS"
  PRECIOUS_STATE=$(state_of_precious)
}

# Modes, owners, times and contents; no times of directories, which a hard link for the test changes.
state_of_precious() {
  find "$PRECIOUS" -type d -printf '%P %m %U %G\n' -o -printf '%P %m %U %G %T@ %s\n' | sort
  cat "$PRECIOUS/file" "$PRECIOUS/full/ledger"
}

# own_pipe: a process that owns a named pipe as a holder does; one before it has lost its own to force-release
own_pipe() {
  end_owner
  mkfifo "$T/pipe"
  chmod 660 "$T/pipe"
  # shellcheck disable=SC2016
  launch owner bash -c 'exec 9<>"$1" && flock -x 9 && echo ready && exec sleep 1000' - "$T/pipe"
  wait_until says "$T/owner.out" ready
}

end_owner() {
  [[ -n ${PIDS[owner]:-} ]] || return 0
  kill -TERM "${PIDS[owner]}"
  finish owner || true
}

# make_template OWNER: the files of a lock that somebody holds, all but his pipe
make_template() {
  local owner=$1 directory=$T/template
  mkdir -p "$directory"
  printf '%-255s\n' '00000000000000000001 00000000000000000001' >"$directory/ledger"
  printf '0 0 1795000000000\nsomebody@host:1/x#1\n' >"$directory/$TICKET.who"
  printf '00000000000000000001 00000001795000000000 00000000000000000000 0\n' >"$directory/$TICKET.grant"
  : >"$directory/runs"
  : >"$directory/slots"
  chown -R "$owner:$(stat -c %g "$LOCKS")" "$directory"
  chmod 2770 "$directory"
  chmod 660 "$directory"/*
}

# plant WHAT: the lock as it was, and WHAT in the place of $place; false where that cannot be
plant() {
  local file
  for file in "$LOCKS/$K/$TICKET" "$PRECIOUS"/*/"$TICKET"; do
    [[ ! -p $file ]] || mv "$file" "$T/pipe"
  done
  rm -rf "${LOCKS:?}"/*
  [[ -p $T/pipe ]] || own_pipe
  cp -a "$T/template" "$LOCKS/$K"
  mv "$T/pipe" "$LOCKS/$K/$TICKET"
  put "$1" "$LOCKS/$K$place"
}

# put WHAT PATH: in the place of what is there; false where that cannot be
put() {
  local what=$1 path=$2
  [[ ! -p $path ]] || mv "$path" "$T/pipe"
  if [[ $path == "$LOCKS/$K" ]]; then
    [[ ! -p $path/$TICKET ]] || mv "$path/$TICKET" "$T/pipe"
    case $what in hard-link | huge-file | directory) return 1 ;; esac
  elif [[ $what == link-to-full ]]; then
    return 1
  fi
  rm -rf "$path"
  case $what in
    link) if [[ $path == "$LOCKS/$K" ]]; then ln -s "$PRECIOUS/empty" "$path"; else ln -s "$PRECIOUS/file" "$path"; fi ;;
    link-to-full) ln -s "$PRECIOUS/full" "$path" ;;
    dangling-link) ln -s "$PRECIOUS/new" "$path" ;;
    link-to-zero) ln -s /dev/zero "$path" ;;
    hard-link) ln "$PRECIOUS/file" "$path" ;;
    pipe) mkfifo -m 666 "$path" ;;
    directory) mkdir -m 777 "$path" ;;
    huge-file) truncate -s 100G "$path" && chmod 666 "$path" ;;
    others-file) if [[ $path == "$LOCKS/$K" ]]; then mkdir -m 777 "$path"; else echo x >"$path"; fi
      chown "$THIRD:$THIRD" "$path" ;;
  esac
  [[ $what == hard-link || $what == others-file ]] || chown -h "$SOMEBODY:$SOMEBODY" "$path"
}

THINGS=(link link-to-full dangling-link link-to-zero hard-link pipe directory huge-file others-file)
OF_LOCK=('' /ledger /runs /slots)
OF_HOLDER=("/$TICKET" "/$TICKET.new" "/$TICKET.who" "/$TICKET.grant")
OF_NEXT=(/00000000000000000002.who /00000000000000000002.new /00000000000000000002.grant)

# asks_all VICTIM...: what a user may ask; each answer comes soon, and nothing of what is precious changes.
asks_all() {
  local command code
  for command in list "inspect $K" "log $K" "-n -k $K -- true" "-n -k $K --slot s -- true" "cancel --wait 10ms $K" \
    "force-release --yes --wait 10ms $K"; do
    case $command:$place in
      inspect* | log*) ;; # have changed nothing
      force* | cancel*) if [[ $place == "/$TICKET"* ]]; then plant "$what"; else continue; fi ;;
      *) plant "$what" ;;
    esac
    code=0
    # An endless file would exhaust memory before time.
    # shellcheck disable=SC2086
    (limit_memory && "$@" timeout -s KILL 20 "$OTHERS_RLOCK" $command) >"$T/said" 2>&1 </dev/null || code=$?
    if ((code > 100)) || [[ $(state_of_precious) != "$PRECIOUS_STATE" ]]; then
      echo "with '$what' in the place of '$place': rlock $command: $code"
      cat "$T/said"
      diff <(echo "$PRECIOUS_STATE") <(state_of_precious)
      return 1
    fi
    [[ $command != "-n -k $K -- true" ]] || RUN_CODE=$code RUN_SAID=$(<"$T/said")
  done
}

limit_memory() {
  sanitized || ulimit -v 1000000
}

# is_refused: the run was refused, and the message names the place
is_refused() {
  if ((RUN_CODE != 77)) || [[ $RUN_SAID != *"$LOCKS/$K$place"* ]]; then
    echo "'$what' in the place of '$place' was not refused: $RUN_CODE $RUN_SAID"
    return 1
  fi
}

# each_thing_in PLACES KIND MAKER VICTIM...: a directory of KIND, a key that MAKER made
each_thing_in() {
  local -n places=$1
  local kind=$2 maker=$3 what place owner=0
  setup_locks
  shift 3
  [[ $* != as_member* ]] || owner=$THIRD
  make_locks "$kind"
  make_precious "$owner"
  make_template "$maker"
  for place in "${places[@]}"; do
    for what in "${THINGS[@]}"; do
      plant "$what" || continue
      asks_all "$@"
      case $what:$place in
        others-file: | others-file:/ledger) [[ $kind == group ]] || is_refused ;;
        huge-file:*) ;;
        *: | *:/ledger) is_refused ;;
      esac
    done
  done
  end_owner
}

@test "for any file of a group member in its directory, in the place of a lock or its records: root touches nothing else and waits for nothing" {
  each_thing_in OF_LOCK group "$SOMEBODY" env
}

@test "for any file of a group member in its directory, in the place of a holder: root touches nothing else and waits for nothing" {
  each_thing_in OF_HOLDER group "$SOMEBODY" env
}

@test "for any file of a group member in its directory, in the place of the next holder: root touches nothing else and waits for nothing" {
  each_thing_in OF_NEXT group "$SOMEBODY" env
}

@test "for any file of a group member in its directory, in the place of a lock or its records: another member touches nothing else and waits for nothing" {
  each_thing_in OF_LOCK group "$SOMEBODY" as_member "$THIRD"
}

@test "for any file of a group member in its directory, in the place of a holder: another member touches nothing else and waits for nothing" {
  each_thing_in OF_HOLDER group "$SOMEBODY" as_member "$THIRD"
}

@test "for any file of a group member in its directory, in the place of the next holder: another member touches nothing else and waits for nothing" {
  each_thing_in OF_NEXT group "$SOMEBODY" as_member "$THIRD"
}

@test "for any file of a user in a directory of their own, in the place of a lock or its records: root touches nothing else and waits for nothing" {
  each_thing_in OF_LOCK user "$SOMEBODY" env
}

@test "for any file of a user in a directory of their own, in the place of a holder: root touches nothing else and waits for nothing" {
  each_thing_in OF_HOLDER user "$SOMEBODY" env
}

@test "for any file of a user in a directory of their own, in the place of the next holder: root touches nothing else and waits for nothing" {
  each_thing_in OF_NEXT user "$SOMEBODY" env
}

# ---- files that options name ------------------------------------------------------------------------------------

# A directory that everybody may write to, as /tmp is, and what another user puts there in a file's place.
setup_named() {
  setup_locks
  make_precious 0
  mkdir -m 1777 "$T/public"
  NAMED=$T/public/file
  export RLOCK_SERVER=file://$T/own
}

# put_named WHAT
put_named() {
  rm -rf "$T/public/file" "$T/public/way"
  NAMED=$T/public/file
  case $1 in
    link) ln -s "$PRECIOUS/file" "$NAMED" ;;
    dangling-link) ln -s "$PRECIOUS/new" "$NAMED" ;;
    link-to-zero) ln -s /dev/zero "$NAMED" ;;
    link-on-the-way) ln -s "$PRECIOUS" "$T/public/way" && chown -h "$SOMEBODY" "$T/public/way" && NAMED=$T/public/way/file ;;
    pipe) mkfifo -m 644 "$NAMED" ;;
    directory) mkdir "$NAMED" ;;
    others-file) echo label=x >"$NAMED" && chmod 600 "$NAMED" ;;
    huge-file) truncate -s 100G "$NAMED" && chmod 600 "$NAMED" ;;
  esac
  [[ $1 == link-on-the-way ]] || chown -h "$SOMEBODY:$SOMEBODY" "$NAMED"
}

# named_ends CODES COMMAND...: rlock ends soon and with one of these, and what is precious is as before.
named_ends() {
  local codes=" $1 " code=0
  shift
  (limit_memory && timeout -s KILL 20 "$RLOCK_BIN" "$@") >"$T/said" 2>&1 </dev/null || code=$?
  if [[ $codes != *" $code "* || $(state_of_precious) != "$PRECIOUS_STATE" || -e $PRECIOUS/new ]]; then
    echo "with '$what' in the place of a file: rlock $*: $code: $(<"$T/said")"
    diff <(echo "$PRECIOUS_STATE") <(state_of_precious)
    return 1
  fi
}

@test "any file of another user in the place of a config or password file is refused soon: 78" {
  local what
  setup_named
  for what in link dangling-link link-to-zero link-on-the-way pipe directory others-file huge-file; do
    put_named "$what"
    named_ends 78 --config "$NAMED" -k "$K" -- true
    [[ $what == others-file ]] || # whose owner may read it anyway
      named_ends 78 -S redis://127.0.0.1:1 --password-file "$NAMED" -k "$K" -- true
  done
}

@test "for any file of another user in the place of a status file, root writes no other file" {
  local what
  setup_named
  for what in link dangling-link link-to-zero link-on-the-way directory; do
    put_named "$what"
    named_ends 64 --status-file "$NAMED" -k "$K" -- true
    assert_equal "$("$RLOCK_BIN" -k "$K" -- echo free)" free
  done
  for what in pipe others-file huge-file; do
    put_named "$what"
    named_ends 0 --status-file "$NAMED" -k "$K" -- true
  done
  # Also while the job runs.
  for what in link dangling-link link-to-zero; do
    put_named others-file
    # shellcheck disable=SC2016
    named_ends 0 --status-file "$NAMED" -k "$K" -- bash -c 'rm "$2" && ln -s "$1" "$2" && chown -h 54321 "$2"' - \
      "$PRECIOUS/file" "$NAMED"
    assert_equal "$(cut -d: -f1 "$T/said")" rlock
  done
}
