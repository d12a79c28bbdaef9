#!/usr/bin/env bats
# Where options end, and that the job's arguments arrive byte for byte.
load ../lib/rlock

# A program named like a subcommand, that shows its arguments.
setup_program() {
  mkdir "$T/bin"
  printf '#!/bin/sh\nprintf "<%%s>" "$0" "$@"\n' >"$T/bin/inspect"
  chmod +x "$T/bin/inspect"
  PATH=$T/bin:$PATH
}

@test "with -k the first word is a program, also one named inspect" {
  setup_program
  run rlock -k "$K" -- inspect a
  assert_output "<$T/bin/inspect><a>"
  run rlock -k "$K" inspect a
  assert_output "<$T/bin/inspect><a>"
  run rlock -t 5 -k "$K" -q inspect -q
  assert_output "<$T/bin/inspect><-q>"
}

@test "options end at the first operand" {
  run rlock -k "$K" echo -k other --ttl 5x --help
  assert_output '-k other --ttl 5x --help'
}

@test "the first -- is rlock's, every later one the command's" {
  run rlock -k "$K" -- echo -- a -- b
  assert_output -- '-- a -- b'
  run rlock -k "$K" echo -- a
  assert_output -- '-- a'
  run rlock -k "$K" -- echo --
  assert_output -- '--'
}

@test "after -- a word with a dash is the program" {
  attempt -k "$K" -- -v
  assert_equal "$status" 127
  assert_stderr_line "cannot run '-v'"
}

@test "options can be glued, abbreviated flags combined" {
  run rlock "-k$K" -t5 -nq -- echo ran
  assert_output ran
  run rlock "--key=$K" --ttl=5s --wait=1s -- echo ran
  assert_output ran
}

@test "a key may begin with a dash or hold any byte" {
  local key
  for key in -dash 'with blank' $'new\nline' $'\xff\xfe' '{tag}x' 'a}b' '%d' 'ключ' '*'; do
    run rlock "--key=$key" -- sh -c 'redis-cli -s "$SERVER/redis.sock" exists "$RLOCK_KEY"'
    assert_output 1
  done
}

@test "arguments pass through byte for byte" {
  local long
  long=$(printf '%0100000d' 0)
  local arguments=('' '[a,b]' '{x}' '%d' '%s' $'line\nbreak' $'\ttab\r' 'quote"s'"'" "\\" '$HOME' '*' 'grüße' $'\xff\xfe' \
    '--' '-k' '--ttl=5x' '=' '@file' '"' "$long" '')
  /usr/bin/printf '%s|' "${arguments[@]}" >"$T/plain"
  rlock -k "$K" -- /usr/bin/printf '%s|' "${arguments[@]}" >"$T/locked"
  cmp "$T/plain" "$T/locked"
  rlock -k "$K" /usr/bin/printf '%s|' "${arguments[@]}" >"$T/locked"
  cmp "$T/plain" "$T/locked"
}

@test "argv[0] is the command as it was written" {
  run rlock -k "$K" -- sh -c 'tr "\0" "|" </proc/$$/cmdline'
  assert_output --regexp '^sh\|-c\|'
  run rlock -k "$K" -- /bin/sh -c 'tr "\0" "|" </proc/$$/cmdline'
  assert_output --regexp '^/bin/sh\|-c\|'
}

@test "-c runs \$SHELL -c STRING" {
  printf '#!/bin/sh\nprintf "<%%s>" "$@"\n' >"$T/my-shell"
  chmod +x "$T/my-shell"
  SHELL=$T/my-shell run rlock -k "$K" -c 'a "b"  c; d'
  assert_output '<-c><a "b"  c; d>'
}

@test "-c works as with flock, without SHELL too" {
  run rlock -k "$K" -c 'echo $((40 + 2)); exit 9'
  assert_equal "$status" 9
  assert_output 42
  unset SHELL
  run rlock -k "$K" -c 'echo $((40 + 2)); exit 9'
  assert_equal "$status" 9
  assert_output 42
}

@test "-- ends a subcommand's options, behind one that has its value with = as well" {
  local options
  for options in "-S file:$T/locks" "--server=file:$T/locks"; do
    # shellcheck disable=SC2086
    attempt inspect $options -- "$K" --json
    assert_equal "$status" 64
    assert_one_stderr_line "unexpected argument '--json'"
  done
}

@test "a k in an attached value is no -k" {
  # A server of this test's own whose path holds a k.
  local socket="$T/k.sock"
  ln -s "$SERVER/redis.sock" "$socket"
  unset RLOCK_SERVER
  attempt "-Sunix://$socket" inspect "$K"
  assert_success
  assert_output --partial 'state    free'
}

@test "an option or a command that is nearly one gets a guess" {
  attempt -k "$K" --tll 5s -- true
  assert_equal "$status" 64
  assert_one_stderr_line "unknown option '--tll'" "did you mean '--ttl'?"
  attempt inspct "$K"
  assert_equal "$status" 64
  assert_one_stderr_line "did you mean: rlock inspect $K"
}
