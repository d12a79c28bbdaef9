#!/usr/bin/env bats
# The build house: it configures anywhere, and what takes time says so.
load lib/rlock

setup_file() { :; }
teardown_file() { :; }
use_server() { :; }

# copy_of_the_source: without git, and without what was built
copy_of_the_source() {
  mkdir -p "$T/source"
  tar -C "$REPO" --exclude=./build --exclude=./.git -cf - . | tar -C "$T/source" -xf -
}

# A step of the build is made: the Lua scripts, embedded.
makes_a_step_with() {
  local generator=$1
  copy_of_the_source
  cmake -S "$T/source" -B "$T/elsewhere" -G "$generator" -DHIREDIS_ROOT="$REPO/build/hiredis" \
    -DRLOCK_UNITY=OFF >"$T/log" 2>&1 || fail "$(<"$T/log")"
  cmake --build "$T/elsewhere" --target rlock_scripts >>"$T/log" 2>&1 || fail "$(<"$T/log")"
  grep -q 'redis.call' "$T/elsewhere/generated/scripts.cpp"
}

@test "it builds in another directory, without git, with ninja" {
  makes_a_step_with Ninja
}

@test "it builds in another directory, without git, with make" {
  makes_a_step_with 'Unix Makefiles'
}

# A script that builds for three seconds, with the steps that a build tool prints.
a_slow_script() {
  mkdir -p "$T/scripts"
  cp "$REPO/scripts/lib.bash" "$T/scripts/lib.bash"
  cat >"$T/scripts/slow" <<'SH'
source "$(dirname "$0")/lib.bash"
work() {
  echo '[1/2] one'
  sleep "$1"
  echo '[2/2] two'
  return "$2"
}
quietly building work "$@"
SH
}

@test "a build's progress is one line on a terminal, rewritten, and gone when it ends" {
  a_slow_script
  run in_terminal -- bash "$T/scripts/slow" 3 0
  assert_success
  [[ $output == *'building: '*' s [1/2]'* ]]
  [[ ${output##*$'\r'} == *$'\033[K'* ]]
}

@test "in a log a build that ends soon says nothing, and one that fails says all" {
  a_slow_script
  run bash "$T/scripts/slow" 0 0
  assert_success
  assert_output ''
  run bash "$T/scripts/slow" 0 3
  assert_equal "$status" 3
  assert_output --partial '[2/2] two'
  assert_output --partial 'building failed with exit code 3'
}
