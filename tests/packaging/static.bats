#!/usr/bin/env bats
# A release is two programs: the static one, which needs nothing of the host, and beside it the one that loads
# libraries, which takes over where one is wanted. Of a build that is one program there is nothing to say here.
load ../lib/rlock
load ../lib/tls
load ../lib/others

OTHER=${RLOCK_BIN%/*}/with-libraries/rlock

setup_file() {
  STATIC=''
  [[ $(readelf --wide --program-headers "$RLOCK_BIN") == *INTERP* ]] || STATIC=1
  export STATIC
  READABLE_PATH=$(readable_path)
  export READABLE_PATH
  FILE_SERVER=$(mktemp -d /tmp/rlock-test.XXXXXX)
  export FILE_SERVER
  start_redis "$FILE_SERVER"
}

is_static() { [[ -n $STATIC ]]; }

# copy_static DIRECTORY: the file alone
copy_static() {
  install -D -m 755 "$RLOCK_BIN" "$1/rlock"
  ALONE=$1/rlock
}

# build_root: a root directory with nothing in it but the program.
build_root() {
  mkdir -p "$T/root/proc" "$T/root/etc" "$T/root/tmp"
  copy_static "$T/root"
  start_redis "$T/root/srv" --bind 127.0.0.1 --port "$(free_port)"
  PORT=$(tr '\0' '\n' <"$T/root/srv/options" | tail -n 1)
  OWN_SERVERS+=("$T/root/srv")
  use_server "$T/root/srv"
}

# add_to_root PROGRAM PLACE: with the libraries that it takes
add_to_root() {
  local file
  install -D -m 755 "$1" "$T/root$2"
  for file in $(ldd "$1" | grep -oE '/[^ ]+'); do
    install -D "$file" "$T/root$file"
  done
}

# add_stub: in the other program's place, one that says that it was called
add_stub() {
  gcc -o "$T/stub" -x c - <<<'
#include <stdio.h>
int main(int count, char **words) { return printf("the other one: %s", words[0]) < 0 || puts("") < 0; }'
  add_to_root "$T/stub" /with-libraries/rlock
}

# in_root WORD...: a command there, without our environment. With /proc, unless WITHOUT_PROC is set.
in_root() {
  local inside=()
  if ((EUID != 0)); then
    inside=(unshare --map-root-user --mount)
  elif unshare --mount true 2>/dev/null; then
    inside=(unshare --mount)
  fi
  "${inside[@]}" bash -c '
    [[ -n ${WITHOUT_PROC:-} ]] || mount --rbind /proc "$T/root/proc"
    status=0
    env -i TEST_MARK="$TEST_MARK" "$(type -P chroot)" "$T/root" "$@" || status=$?
    [[ -n ${WITHOUT_PROC:-} ]] || umount -l "$T/root/proc"
    exit $status' _ "$@" 3>&-
}

@test "a release is static where that can be linked, and no other build is" {
  local expected=''
  if grep -qx 'RLOCK_STATIC:STRING=AUTO' "${RLOCK_BIN%/*}/CMakeCache.txt"; then
    ! grep -qx 'STATIC_LINKS:INTERNAL=1' "${RLOCK_BIN%/*}/CMakeCache.txt" || expected=1
    assert_equal "$STATIC" "$expected"
  fi
}

@test "the program has no library and no loader; the other one has, and is called the same" {
  is_static || return 0
  run readelf --wide --dynamic --program-headers "$RLOCK_BIN"
  refute_output --partial NEEDED
  refute_output --partial INTERP
  run readelf --wide --dynamic --program-headers "$OTHER"
  assert_output --partial 'NEEDED'
  assert_output --partial 'INTERP'
  assert_equal "${OTHER##*/}" rlock
  assert_equal "$("$RLOCK_BIN" --version)" "$("$OTHER" --version)"
}

@test "the file alone runs in an empty root directory: a run, its steps, a directory of locks" {
  is_static || return 0
  build_root
  run in_root /rlock -S unix:///srv/redis.sock -k "$K" -- /rlock --version
  assert_success
  assert_output "$("$RLOCK_BIN" --version)"
  run in_root /rlock acquire --ttl 1m -S "redis://127.0.0.1:$PORT" -k "$K"
  assert_success
  assert_output --regexp "^uid0@" # whose name nobody knows there
  run in_root /rlock check -S "redis://127.0.0.1:$PORT" -k "$K" --token "$output"
  assert_success
  run in_root /rlock -S file: -k "$K" -- /rlock --version
  assert_success
}

@test "names of /etc/hosts and users of /etc/passwd need no other program" {
  is_static || return 0
  local url
  build_root
  echo '127.0.0.1 other Locks.Test # a comment' >"$T/root/etc/hosts"
  printf 'hosts: files test [NOTFOUND=return] dns\npasswd: files test\n' >"$T/root/etc/nsswitch.conf"
  printf 'root:x:0:0::/:/bin/sh\nuser%s:x:%s:0::/:\n' "$EUID" "$EUID" >"$T/root/etc/passwd"
  add_stub
  run in_root /rlock acquire --ttl 1m -S "redis://locks.test:$PORT" -k "$K"
  assert_success
  assert_output --regexp '^root@'
  # Every kind of URL with a name that is not there, and none with all there or without one.
  for url in "redis://comment:$PORT" redis://127.0.0.1:1,comment:2 redis+sentinel://comment:1,other:2/one zk://comment \
    'redis://127.0.0.1:1 redis://127.0.0.1:2 redis://comment'; do
    run in_root /rlock inspect -S "$url" k
    assert_output 'the other one: /rlock'
  done
  for url in unix:///comment redis://127.0.0.1:1 'redis://[::1]:1,other:2' redis+sentinel://other:1/comment zk://other:1; do
    run in_root /rlock inspect --connect-timeout 100ms -S "$url" k
    assert_equal "$status" 69
    refute_output --partial 'the other one'
  done
}

@test "the other program asks sources of /etc/nsswitch.conf beyond files and DNS, or a line says that it cannot" {
  is_static || return 0
  build_root
  gcc -shared -fPIC -o "$T/libnss_test.so.2" -x c - <<'C'
#define _GNU_SOURCE
#include <errno.h>
#include <netdb.h>
#include <nss.h>
#include <pwd.h>
#include <string.h>
#include <arpa/inet.h>
enum nss_status _nss_test_gethostbyname4_r(const char *name, struct gaih_addrtuple **out, char *buffer, size_t size,
                                           int *error, int *h_error, int *ttl) {
  if (strcmp(name, "locks.plugin") != 0) return NSS_STATUS_NOTFOUND;
  struct gaih_addrtuple *tuple = (struct gaih_addrtuple *)(((unsigned long)buffer + 15) & ~15ul);
  memset(tuple, 0, sizeof *tuple);
  tuple->name = (char *)(tuple + 1);
  strcpy(tuple->name, name);
  tuple->family = AF_INET;
  tuple->addr[0] = htonl(INADDR_LOOPBACK);
  *out = tuple;
  return NSS_STATUS_SUCCESS;
}
enum nss_status _nss_test_getpwuid_r(uid_t user, struct passwd *entry, char *buffer, size_t size, int *error) {
  strcpy(buffer, "from-plugin");
  *entry = (struct passwd){buffer, buffer, user, 0, buffer, buffer, buffer};
  return NSS_STATUS_SUCCESS;
}
C
  add_to_root "$T/libnss_test.so.2" "$(dirname "$(ldd "$OTHER" | sed -n 's/.*=> \(.*\/libc\.so\.6\) .*/\1/p')")/libnss_test.so.2"
  printf 'hosts: files test [NOTFOUND=return] dns\npasswd: files test\n' >"$T/root/etc/nsswitch.conf"
  : >"$T/root/etc/hosts"
  : >"$T/root/etc/resolv.conf"
  # Without it: not even its C library is loaded, which is there.
  run in_root /rlock acquire --ttl 1m -S "redis://locks.plugin:$PORT" -k "$K" --connect-timeout 2s
  assert_equal "$status" 69
  assert_output --partial "'test' of /etc/nsswitch.conf was not asked"
  assert_output --partial "/with-libraries/rlock"
  run in_root /rlock acquire --ttl 1m -S "redis://127.0.0.1:$PORT" -k "$K.user"
  assert_output --regexp '^uid0@'
  add_to_root "$OTHER" /with-libraries/rlock
  run in_root /rlock acquire --ttl 1m -S "redis://locks.plugin:$PORT" -k "$K"
  assert_success
  assert_output --regexp '^from-plugin@'
  if ! grep -qa 'built without ZooKeeper' "$OTHER"; then
    run in_root /rlock inspect -S zk://locks.plugin:1 "$K" --connect-timeout 1s
    assert_equal "$status" 69
    refute_output --partial 'no such host'
    rm -r "$T/root/with-libraries"
    run in_root /rlock inspect -S zk://locks.plugin:1 "$K" --connect-timeout 1s
    assert_equal "$status" 69
    assert_output --partial 'no such host'
    assert_output --partial "'test' of /etc/nsswitch.conf was not asked"
  fi
}

@test "without /proc the other program is found by the name that this one was called by" {
  is_static || return 0
  build_root
  add_stub
  WITHOUT_PROC=1 run in_root /rlock inspect -S rediss://127.0.0.1:1 k
  assert_output 'the other one: /rlock'
  WITHOUT_PROC=1 run in_root ../rlock inspect -S rediss://127.0.0.1:1 k
  assert_output 'the other one: ../rlock'
}

@test "for TLS the other program takes over: the same process, words, environment and open files" {
  is_static || return 0
  tls_server --requirepass secret
  export REDISCLI_AUTH=secret
  local url="rediss://:secret@127.0.0.1:$TLS_PORT?cacert=$T/ca.crt" pid words
  nap 0.01 # opens a pipe
  exec 8<"$T/ca.crt"
  # shellcheck disable=SC2016
  launch holder "$RLOCK_BIN" -S "$url" -k "$K" -- sh -c 'env; ls -l /proc/self/fd; echo "$PPID"; echo started
    until [ -e "$T/end" ]; do sleep 0.1; done' "a word  of 'one'"
  exec 8<&-
  wait_until says "$T/holder.out" started
  pid=${PIDS[holder]}
  assert_equal "$(readlink "/proc/$pid/exe")" "$OTHER"
  assert_equal "$(<"/proc/$pid/comm")" rlock
  mapfile -d '' -t words <"/proc/$pid/cmdline"
  assert_equal "${words[0]}" "$RLOCK_BIN"
  assert_equal "${words[2]}" "rediss://*******@127.0.0.1:$TLS_PORT?cacert=$T/ca.crt"
  assert_equal "${words[-1]}" "a word  of 'one'"
  touch "$T/end"
  finish holder
  assert_success
  # The environment of a job that runs on a plain server.
  exec 8<"$T/ca.crt"
  launch plain "$RLOCK_BIN" -S "unix://:secret@$SERVER/redis.sock" -k "$K" -- sh -c 'env; ls -l /proc/self/fd; echo "$PPID"'
  exec 8<&-
  finish plain
  diff <(names_and_files holder) <(names_and_files plain)
}

# names_and_files NAME: of its variables, and what it found open but for its own directory and output
names_and_files() {
  sed -nE 's/^([A-Za-z_0-9]+)=.*/\1/p; s/.* ([0-9]+ -> .*)/\1/p' "$T/$1.out" | grep -vE '/proc/|\.(out|err)$' | sort
}

@test "a config file and a password that come out of pipes reach the other program" {
  is_static || return 0
  tls_server --requirepass secret
  run env -u RLOCK_SERVER "$RLOCK_BIN" --config <(echo "server = $RLOCK_SERVER") --password-file <(echo secret) \
    -k "$K" -- echo ran
  assert_success
  assert_output ran
  run "$RLOCK_BIN" --password-file <(echo secret) -k "$K" -- echo ran
  assert_success
  run env -u RLOCK_SERVER "$RLOCK_BIN" --config <(echo "server = unix://:secret@$SERVER/redis.sock") -k "$K" -- echo ran
  assert_success
  assert_output ran
}

@test "where the other program is missing, TLS exits 78 and says what to install; the rest works" {
  is_static || return 0
  copy_static "$T/alone"
  attempt_alone -S rediss://127.0.0.1:1 -k "$K" -- touch "$T/ran"
  assert_equal "$status" 78
  assert_one_stderr_line TLS "'$T/alone/with-libraries/rlock'" "'$T/alone/../libexec/rlock/rlock'" install
  attempt_alone inspect -S rediss+sentinel://127.0.0.1:1/one "$K"
  assert_equal "$status" 78
  attempt_alone -S redis://127.0.0.1:1 -S rediss://127.0.0.1:2 -S redis://127.0.0.1:3 -k "$K" -- touch "$T/ran"
  assert_equal "$status" 78
  [[ ! -e $T/ran ]]
  attempt_alone -k "$K" -- echo ran
  assert_success
  assert_equal "$output" ran
  attempt_alone -S "redis://localhost:1" -k "$K" -- true
  assert_equal "$status" 69
}

# attempt_alone ARG...: as attempt, with $ALONE
attempt_alone() {
  RLOCK_BIN=$ALONE attempt "$@"
}

@test "a static program in the other one's place is not run, again and again" {
  is_static || return 0
  copy_static "$T/alone/with-libraries"
  copy_static "$T/alone"
  attempt_alone -S rediss://127.0.0.1:1 -k "$K" -- true
  assert_equal "$status" 78
  assert_one_stderr_line "'$T/alone/with-libraries/rlock' is not rlock's program for that"
  rm -r "$T/alone/with-libraries"
  ln -s . "$T/alone/with-libraries"
  attempt_alone -S rediss://127.0.0.1:1 -k "$K" -- true
  assert_equal "$status" 78
  assert_one_stderr_line 'is not'
  rm "$T/alone/with-libraries"
  mkdir "$T/alone/with-libraries"
  printf '#!/bin/sh\nexec %s "$@"\n' "$T/alone/rlock" >"$T/alone/with-libraries/rlock"
  chmod 755 "$T/alone/with-libraries/rlock"
  attempt_alone -S rediss://127.0.0.1:1 -k "$K" -- true
  assert_equal "$status" 78
}

@test "a program beside it that others may have put there is not run" {
  is_static || return 0
  copy_static "$T/alone"
  install -D -m 755 "$OTHER" "$T/alone/with-libraries/rlock"
  chmod o+w "$T/alone/with-libraries"
  attempt_alone -S rediss://127.0.0.1:1 -k "$K" -- true
  assert_equal "$status" 78
  assert_one_stderr_line 'others may have put it there'
  chmod o-w "$T/alone/with-libraries"
  chmod o+w "$T/alone/with-libraries/rlock"
  attempt_alone -S rediss://127.0.0.1:1 -k "$K" -- true
  assert_equal "$status" 78
  chmod o-w "$T/alone/with-libraries/rlock"
  attempt_alone -S rediss://127.0.0.1:1 -k "$K" -- true
  assert_equal "$status" 69
}

@test "a program beside it that a group may have put there is not run, unless that is root's group" {
  local step
  is_static || return 0
  need_root
  copy_static "$T/alone"
  install -D -m 755 "$OTHER" "$T/alone/with-libraries/rlock"
  for step in with-libraries with-libraries/rlock; do
    chgrp "$SOMEBODY" "$T/alone/$step"
    chmod g+w "$T/alone/$step"
    attempt_alone -S rediss://127.0.0.1:1 -k "$K" -- true
    assert_equal "$status" 78
    assert_one_stderr_line "$T/alone/$step" 'others may have put it there' ": chmod go-w $T/alone/$step"
    chgrp root "$T/alone/$step"
    attempt_alone -S rediss://127.0.0.1:1 -k "$K" -- true
    assert_equal "$status" 69
    chgrp "$SOMEBODY" "$T/alone/$step"
    chmod go-w "$T/alone/$step"
    attempt_alone -S rediss://127.0.0.1:1 -k "$K" -- true
    assert_equal "$status" 69
  done
}

@test "a group that may exchange rlock itself may have put the other program there" {
  is_static || return 0
  copy_static "$T/alone"
  install -D -m 755 "$OTHER" "$T/alone/with-libraries/rlock"
  need_root
  chgrp -R "$SOMEBODY" "$T/alone"
  chmod g+w "$T/alone" "$T/alone/with-libraries"
  attempt_alone -S rediss://127.0.0.1:1 -k "$K" -- true
  assert_equal "$status" 69
  chgrp 54322 "$T/alone/with-libraries"
  attempt_alone -S rediss://127.0.0.1:1 -k "$K" -- true
  assert_equal "$status" 78
}

@test "an install under umask 002 has directories that no group may write to" {
  is_static || return 0
  (umask 002 && cmake --install "${RLOCK_BIN%/*}" --prefix "$T/prefix") >"$T/log" 2>&1 || fail "$(<"$T/log")"
  run find "$T/prefix/bin" "$T/prefix/libexec" -perm /022
  assert_output ''
  chgrp -R "$SOMEBODY" "$T/prefix" 2>/dev/null || true
  run --separate-stderr "$T/prefix/bin/rlock" -S rediss://127.0.0.1:1 -k "$K" -- true
  assert_failure 69
}

@test "a program that another user can exchange for his while it is looked at is not run" {
  local what
  is_static || return 0
  ((EUID == 0)) || skip 'only root can become somebody else'
  let_others_in
  copy_static "$T/public"
  chmod 1777 "$T/public"
  install -D -m 755 "$OTHER" "$T/good/rlock"
  gcc -o "$T/evil" -x c - <<<"#include <fcntl.h>
int main(void) { return creat(\"$T/caught\", 0600) < 0; }"
  install -D -m 755 -o "$SOMEBODY" "$T/evil" "$T/theirs/rlock"
  # shellcheck disable=SC2016
  launch exchanges setpriv --reuid "$SOMEBODY" --regid "$SOMEBODY" --clear-groups "$PYTHON" -c 'import os, sys
there, beside, *targets = sys.argv[1:]
os.symlink(targets[0], there)
print("begun", flush=True)
while True:
    for target in targets:
        os.symlink(target, beside)
        os.rename(beside, there)' "$T/public/with-libraries" "$T/public/beside" "$T/good" "$T/theirs"
  wait_until says "$T/exchanges.out" begun
  for _ in {1..200}; do
    attempt_alone inspect -S rediss://127.0.0.1:1 "$K"
    assert_equal "$status" 78
    assert_one_stderr_line 'others may have put it there'
    [[ ! -e $T/caught ]]
  done
  kill "${PIDS[exchanges]}"
  finish exchanges || true
  # Nor is one that stays, or one that is root's and that another user's directory or link leads to.
  for what in 'ln -s good' 'ln -s theirs' 'mkdir'; do
    rm -rf "$T/public/with-libraries"
    case $what in
      mkdir) mkdir "$T/public/with-libraries" && cp "$T/good/rlock" "$T/public/with-libraries/" ;;
      *) ln -s "$T/${what##* }" "$T/public/with-libraries" ;;
    esac
    chown -h "$SOMEBODY" "$T/public/with-libraries"
    attempt_alone inspect -S rediss://127.0.0.1:1 "$K"
    assert_equal "$status" 78
    assert_one_stderr_line "$T/public/with-libraries" 'others may have put it there'
  done
  [[ ! -e $T/caught ]]
  rm -r "$T/public/with-libraries"
  ln -s "$T/good" "$T/public/with-libraries"
  attempt_alone inspect -S rediss://127.0.0.1:1 "$K"
  assert_equal "$status" 69
}

@test "both are installed, and find each other there, through a link too" {
  is_static || return 0
  cmake --install "${RLOCK_BIN%/*}" --prefix "$T/prefix" >"$T/log" 2>&1 || fail "$(<"$T/log")"
  tls_server
  mkdir "$T/bin"
  ln -s ../prefix/bin/rlock "$T/bin/rlock"
  # shellcheck disable=SC2016
  PATH=$T/bin:$PATH run rlock_of_path -k "$K" -- sh -c 'readlink "/proc/$(ps -o ppid= -p "$PPID" | tr -d " ")/exe"'
  assert_success
  assert_output "$T/prefix/libexec/rlock/rlock"
}

rlock_of_path() { env --default-signal rlock "$@" 3>&-; }

@test "a warning about variables is printed once" {
  is_static || return 0
  tls_server
  RLOCK_TLL=5s run --separate-stderr "$RLOCK_BIN" -k "$K" -- echo ran
  assert_success
  assert_equal "$(grep -c RLOCK_TLL <<<"$stderr")" 1
}
