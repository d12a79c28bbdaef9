#!/usr/bin/env bats
# Configuration that somebody else may have written is refused, and so is a secret that others can read.
load ../lib/rlock
load ../lib/tls
load ../lib/namespaces
load ../lib/others

config() {
  mkdir -p "$(dirname "$1")"
  echo 'label = configured' >"$1"
}

# label_with ARG...: the label of a run, which only the config file has set.
label_with() {
  rlock "$@" -k "$K" -- sh -c 'label=${RLOCK_TOKEN##*/}; echo "${label%#*}"'
}

# refused FILE MEND ARG...: exit 78, one line that names the file and the command that mends it, nothing touched;
# and that command does mend it.
refused() {
  local file=$1 mend=$2
  shift 2
  attempt "$@" -k "$K" -- touch "$T/ran"
  assert_equal "$status" 78
  assert_one_stderr_line "$file" ": $mend"
  [[ ! -e $T/ran ]]
  [[ $(redis exists "$(companion "$K" fence)") == 0 ]]
  $mend
  run label_with "$@"
  assert_output configured
  redis del "$(companion "$K" fence)" >/dev/null
}

@test "a config file that group or others may write to is refused, with the chmod that mends it" {
  local mode
  config "$T/dir/conf"
  for mode in 664 660 620 646 602 666 777; do
    chmod "$mode" "$T/dir/conf"
    refused "$T/dir/conf" "chmod go-w $T/dir/conf" --config "$T/dir/conf"
  done
  for mode in 600 640 644 400 444 755; do
    chmod "$mode" "$T/dir/conf"
    run label_with --config "$T/dir/conf"
    assert_output configured
  done
}

@test "the user's own files are looked at as well, wherever they come from" {
  config "$HOME/.config/rlock/rlock.conf"
  chmod 666 "$HOME/.config/rlock/rlock.conf"
  refused "$HOME/.config/rlock/rlock.conf" "chmod go-w $HOME/.config/rlock/rlock.conf"
  config "$T/xdg/rlock/rlock.conf"
  chmod 622 "$T/xdg/rlock/rlock.conf"
  XDG_CONFIG_HOME=$T/xdg refused "$T/xdg/rlock/rlock.conf" "chmod go-w $T/xdg/rlock/rlock.conf"
  chmod 622 "$T/xdg/rlock/rlock.conf"
  RLOCK_CONFIG=$T/xdg/rlock/rlock.conf refused "$T/xdg/rlock/rlock.conf" "chmod go-w $T/xdg/rlock/rlock.conf"
}

@test "so is a file of somebody else, and one behind a link" {
  config "$T/conf"
  chown "$SOMEBODY" "$T/conf"
  ln -s "$T/conf" "$T/link"
  refused "$T/link" "chown $EUID $T/link" --config "$T/link"
  chmod 664 "$T/conf"
  refused "$T/link" "chmod go-w $T/link" --config "$T/link"
}

@test "a directory in which others can exchange the file is refused" {
  config "$T/dir/conf"
  chmod 775 "$T/dir"
  refused "$T/dir/conf" "chmod go-w $T/dir/" --config "$T/dir/conf"
  chmod 757 "$T/dir"
  refused "$T/dir/conf" "chmod go-w $T/dir/" --config "$T/dir/conf"
  chown "$SOMEBODY" "$T/dir"
  refused "$T/dir/conf" "chown $EUID $T/dir/" --config "$T/dir/conf"
  cd "$T/dir"
  chmod 777 .
  refused conf 'chmod go-w .' --config conf
}

@test "in a sticky directory such as /tmp our own file will do, and somebody else's link will not" {
  config "$T/other/conf"
  mkdir -m 1777 "$T/sticky"
  config "$T/sticky/conf"
  run label_with --config "$T/sticky/conf"
  assert_output configured
  ln -s "$T/other/conf" "$T/sticky/link"
  run label_with --config "$T/sticky/link"
  assert_output configured
  chown -h "$SOMEBODY" "$T/sticky/link"
  attempt --config "$T/sticky/link" -k "$K" -- touch "$T/ran"
  assert_equal "$status" 78
  assert_one_stderr_line "$T/sticky/link" "belongs to user $SOMEBODY"
  [[ ! -e $T/ran ]]
}

@test "root's files serve every user, and nobody's do not serve root" {
  let_others_in
  export RLOCK_SERVER=file://$T/locks
  mkdir -m 1777 "$T/locks"
  config "$T/roots/conf"
  config "$T/mine/conf"
  chown -R "$SOMEBODY" "$T/mine"
  run as_user "$SOMEBODY" "$OTHERS_RLOCK" --config "$T/roots/conf" -k "$K" -- printenv RLOCK_TOKEN
  assert_output --partial '/configured#'
  run as_user "$SOMEBODY" "$OTHERS_RLOCK" --config "$T/mine/conf" -k "$K" -- printenv RLOCK_TOKEN
  assert_output --partial '/configured#'
  # sudo -E, su -m: the variables are a user's, and the rights are root's.
  RLOCK_CONFIG=$T/mine/conf attempt -k "$K" -- touch "$T/ran"
  assert_equal "$status" 78
  assert_one_stderr_line "$T/mine/conf" "belongs to user $SOMEBODY"
  config "$T/mine/rlock/rlock.conf"
  chown -R "$SOMEBODY" "$T/mine/rlock"
  XDG_CONFIG_HOME=$T/mine attempt -k "$K" -- touch "$T/ran"
  assert_equal "$status" 78
  assert_one_stderr_line "$T/mine/rlock/rlock.conf" "belongs to user $SOMEBODY"
  [[ ! -e $T/ran ]]
}

@test "a device, a pipe or standard input has no mode of its own" {
  attempt --config /dev/null -k "$K" -- true
  assert_success
  run label_with --config <(echo 'label = configured')
  assert_output configured
  run label_with --config /dev/stdin < <(echo 'label = configured')
  assert_output configured
}

@test "a named pipe is read if somebody writes to it, and refused after a moment if nobody does: 78" {
  mkfifo -m 600 "$T/pipe"
  attempt_within 10 --config "$T/pipe" -k "$K" -- touch "$T/ran"
  assert_equal "$status" 78
  assert_one_stderr_line "'$T/pipe': it is a pipe that nobody wrote to"
  attempt_within 10 --password-file "$T/pipe" -k "$K" -- touch "$T/ran"
  assert_equal "$status" 78
  assert_one_stderr_line --password-file 'it is a pipe that nobody wrote to'
  [[ ! -e $T/ran ]]
  { echo 'label ='; sleep 0.2; echo configured; } | sed 'N;s/\n/ /' >"$T/pipe" &
  run label_with --config "$T/pipe"
  assert_output configured
  wait $!
  run label_with --config <(sleep 3; echo 'label = configured')
  assert_output configured
}

@test "a device without an end is refused: 78" {
  attempt_within 10 --config /dev/zero -k "$K" -- touch "$T/ran"
  assert_equal "$status" 78
  assert_one_stderr_line '/dev/zero' 'File too large'
  [[ ! -e $T/ran ]]
}

# attempt_within SECONDS ARG...: 124 if it lasts longer.
attempt_within() {
  local seconds=$1 program=$RLOCK_BIN
  shift
  RLOCK_BIN=timeout attempt -k 1 "$seconds" "$program" "$@"
}

# password_refused MEND ARG...: exit 78, one line that names option and file and the command that mends it, nothing
# touched; and that command does mend it.
password_refused() {
  local mend=$1
  shift
  attempt "$@" -k "$K" -- touch "$T/ran"
  assert_equal "$status" 78
  assert_one_stderr_line --password-file ": $mend"
  [[ ! -e $T/ran ]]
  $mend
  attempt "$@" -k "$K" -- true
  assert_success
}

# The kernel makes no user namespace in a chroot: here only the map of the process says that it is in one.
@test "in a user namespace a file of somebody without a number is refused, and the line says what to do" {
  local nobody=65534
  need_root
  own_mounts
  echo "0 $SOMEBODY 1" >"$T/uid_map"
  # shellcheck disable=SC2016
  INSIDE+=(bash -c 'mount --bind "$0" /proc/$$/uid_map; exec "$@"' "$T/uid_map")
  config "$T/others/conf"
  config "$T/mine/conf"
  chown -R "$nobody" "$T/others"
  ln -s "$T/others/conf" "$T/mine/link"
  for file in "$T/others/conf" "$T/mine/link"; do
    run "${INSIDE[@]}" "$RLOCK_BIN" --config "$file" -S "file://$T/mine/locks" -k "$K" -- echo ran 3>&-
    assert_failure 78
    assert_output --partial "belongs to user $nobody, not to you or root: this user namespace has no number for its owner"
    refute_output --partial chown
  done
  run "${INSIDE[@]}" "$RLOCK_BIN" --config "$T/mine/conf" -S "file://$T/mine/locks" -k "$K" -- echo ran 3>&-
  assert_output ran
}

@test "a password file that others can read is refused, with the chmod that mends it" {
  local mode
  own_server --requirepass right
  echo right >"$T/password"
  for mode in 604 660 606 620 644 666; do
    chmod "$mode" "$T/password"
    password_refused "chmod go= $T/password" --password-file "$T/password"
  done
  attempt --password-file "$T" -k "$K" -- touch "$T/ran"
  assert_equal "$status" 78
  assert_one_stderr_line --password-file 'Is a directory'
  [[ ! -e $T/ran ]]
  attempt --password-file <(echo right) -k "$K" -- true
  assert_success
}

@test "root's password file may be for a group, not for all, and another user's for nobody else" {
  own_server --requirepass right
  let_others_in
  chmod 777 "$SERVER/redis.sock"
  echo right >"$T/password"
  chmod 640 "$T/password"
  attempt --password-file "$T/password" -k "$K" -- true
  assert_success
  for mode in 660 644; do
    chmod "$mode" "$T/password"
    RLOCK_PASSWORD_FILE=$T/password attempt -k "$K" -- touch "$T/ran"
    assert_equal "$status" 78
    assert_one_stderr_line RLOCK_PASSWORD_FILE "chmod go= $T/password"
  done
  mkdir "$T/theirs"
  install -m 640 "$T/password" "$T/theirs/password"
  chown -R "$SOMEBODY" "$T/theirs"
  run as_user "$SOMEBODY" "$OTHERS_RLOCK" --password-file "$T/theirs/password" -k "$K" -- touch "$T/theirs/ran"
  assert_failure 78
  assert_output --partial "chmod go= $T/theirs/password"
  chmod 600 "$T/theirs/password"
  run as_user "$SOMEBODY" "$OTHERS_RLOCK" --password-file "$T/theirs/password" -k "$K" -- echo ran
  assert_output ran
  [[ ! -e $T/ran && ! -e $T/theirs/ran ]]
}

@test "a password file of another user, or where another user can exchange it, is refused, with what mends it" {
  own_server --requirepass right
  mkdir "$T/dir"
  (umask 077 && echo right >"$T/dir/password")
  ln -s "$T/dir/password" "$T/link"
  chown "$SOMEBODY" "$T/dir/password"
  password_refused "chown $EUID $T/dir/password" --password-file "$T/dir/password"
  chown "$SOMEBODY" "$T/dir/password"
  password_refused "chown $EUID $T/link" --password-file "$T/link"
  chmod 775 "$T/dir"
  password_refused "chmod go-w $T/dir/" --password-file "$T/dir/password"
  chown "$SOMEBODY" "$T/dir"
  password_refused "chown $EUID $T/dir/" --password-file "$T/dir/password"
}

@test "a link in a directory of another user makes rlock send nobody a file of ours" {
  own_server --requirepass right
  mkdir "$T/theirs"
  chown "$SOMEBODY" "$T/theirs"
  (umask 077 && echo right >"$T/ours")
  ln -s "$T/ours" "$T/theirs/password"
  attempt --password-file "$T/theirs/password" -k "$K" -- touch "$T/ran"
  assert_equal "$status" 78
  assert_one_stderr_line --password-file "its directory belongs to user $SOMEBODY"
  chown -h "$SOMEBODY" "$T/theirs/password"
  attempt --password-file "$T/theirs/password" -k "$K" -- touch "$T/ran"
  assert_equal "$status" 78
  [[ ! -e $T/ran ]]
}

@test "a pipe without a name brings a password from any user, as through sudo, but no config" {
  local name program=$RLOCK_BIN
  own_server --requirepass right
  need_root
  for name in password-file config; do
    cat >"$T/reader" <<'EOF'
import os, sys
ours, theirs = os.pipe()
os.write(theirs, b'right' if sys.argv[2] == '--password-file' else b'label = configured')
os.close(theirs)
os.fchown(ours, int(sys.argv[1]), -1)
os.dup2(ours, 0)
os.execvp(sys.argv[3], [sys.argv[3], sys.argv[2], '/dev/stdin', *sys.argv[4:]])
EOF
    RLOCK_BIN=$PYTHON REDISCLI_AUTH=right attempt "$T/reader" "$SOMEBODY" "--$name" "$program" -k "$K" -- echo ran
    if [[ $name == config ]]; then
      assert_equal "$status" 78
      assert_one_stderr_line "belongs to user $SOMEBODY"
    else
      assert_success
    fi
  done
}

@test "so is the key of a TLS certificate" {
  tls_server
  make_certificate client ca 2 'DNS:client.test'
  attempt -S "$RLOCK_SERVER&cert=$T/client.crt&key=$T/client.key" -k "$K" -- true
  assert_success
  chown "$SOMEBODY" "$T/client.key"
  attempt -S "$RLOCK_SERVER&cert=$T/client.crt&key=$T/client.key" -k "$K" -- touch "$T/ran"
  assert_equal "$status" 78
  assert_one_stderr_line "$T/client.key" ": chown $EUID $T/client.key"
  chown "$EUID" "$T/client.key"
  chmod 644 "$T/client.key"
  attempt -S "$RLOCK_SERVER&cert=$T/client.crt&key=$T/client.key" -k "$K" -- touch "$T/ran"
  assert_equal "$status" 78
  assert_one_stderr_line "$T/client.key" ": chmod go= $T/client.key"
  [[ ! -e $T/ran ]]
}
