#!/usr/bin/env bats
# The build house: it configures anywhere, what takes time says so, and the tests count what they did not run.
load ../lib/rlock

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

# build_without_compiling ARGUMENT...: scripts/build in a copy of the source; CMake configures, and compiles nothing
build_without_compiling() {
  copy_of_the_source
  mkdir -p "$T/bin" "$T/source/build"
  printf '#!/bin/sh\n[ "$1" = --build ] || exec %s "$@"\n' "$(type -P cmake)" >"$T/bin/cmake"
  chmod +x "$T/bin/cmake"
  [[ ! -d $REPO/build/hiredis ]] || ln -sfn "$REPO/build/hiredis" "$T/source/build/hiredis"
  PATH=$T/bin:$PATH run "$T/source/scripts/build" "$@"
}

@test "scripts/build has all that the README promises, or ends with a line on what is left out and how to get it" {
  build_without_compiling
  assert_success
  assert_equal "${lines[-1]}" 'build: build/release/rlock is ready'
  build_without_compiling -- -DZOOKEEPER_INCLUDE=
  assert_success
  assert_equal "${lines[-1]}" \
    'build: without ZooKeeper (zk://): install its single-threaded C client (libzookeeper-st-dev), and build again'
}

@test "a hiredis that was built after the first attempt is found by the next one" {
  local old=$T/usr/libhiredis.a
  install -D "$(type -P true)" "$old"
  build_without_compiling -- -DHIREDIS_LIBRARY="$old"
  assert_success
  grep -qF "=$old" "$T/source/build/release/CMakeCache.txt"
  build_without_compiling
  assert_success
  run grep -F "=$old" "$T/source/build/release/CMakeCache.txt"
  assert_failure
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

# a_clone: of a repository of two commits, neither of which is the one that scripts/build-previous wants
a_clone() {
  local git=(git -c user.name=x -c user.email=x@example.org -C "$T/origin")
  mkdir "$T/origin"
  cp -r "$REPO/scripts" "$T/origin/scripts"
  "${git[@]}" init -q && "${git[@]}" add . && "${git[@]}" commit -qm one && "${git[@]}" commit -qm two --allow-empty
  git clone -q "$@" "file://$T/origin" "$T/clone"
}

# its_tests ARGUMENT...: scripts/test in the clone, where nothing is built and the two files have a test each. They take a
# moment: Bats 1.11 may miss the process that counts a test's time if the test ends before that has begun, and wait for it.
its_tests() {
  local name
  for name in build install-packages install-promtool install-node-modules; do
    printf '#!/bin/sh\n' >"$T/clone/scripts/$name"
  done
  install -D -m 755 /bin/true "$T/clone/build/release/rlock"
  cp /bin/true "$T/clone/build/release/unit-tests"
  mkdir -p "$T/clone/tests/upgrade"
  echo '@test "of two versions" { sleep 0.2; false; }' >"$T/clone/tests/upgrade/two.bats"
  echo '@test "of one" { sleep 0.2; }' >"$T/clone/tests/one.bats"
  echo '@test "of none" { sleep 0.2; skip; }' >"$T/clone/tests/skips.bats"
  run env -i PATH="${PATH//"$BATS_LIBEXEC:"/}" HOME="$HOME" "$T/clone/scripts/test" "$@"
}

# The build counts as one that passed.
@test "where the clone is shallow, scripts/test says which files it did not run, and the others decide" {
  a_clone --depth 1
  its_tests one two
  assert_success
  assert_line --partial '# not run: tests/upgrade/two.bats: this clone is shallow'
  assert_equal "${lines[-1]}" '2 passed, 0 failed, 1 file not run'
}

@test "where there is no history, scripts/test says which files it did not run, and the others decide" {
  a_clone
  rm -rf "$T/clone/.git"
  its_tests one skips two
  assert_failure
  assert_line --partial '# not run: tests/upgrade/two.bats: this is no clone'
  assert_equal "${lines[-1]}" '2 passed, 1 failed, 1 file not run'
}

@test "scripts/test fails if it runs no test" {
  a_clone --depth 1
  its_tests two
  assert_failure
  assert_equal "${lines[-1]}" '1 passed, 1 failed, 1 file not run'
}

@test "in a full clone the tests of two versions run, and fail if the older one is missing from the history" {
  a_clone
  its_tests one two
  assert_failure
  assert_equal "${lines[-1]}" '2 passed, 1 failed'
  run "$T/clone/scripts/build-previous"
  assert_equal "$status" 2
  assert_output --partial 'the history here does not have commit'
}

@test "scripts/test --all runs the parts that it is told, and none that it does not know" {
  local name
  a_clone --depth 1
  for name in check-models simulate; do
    printf '#!/bin/sh\necho "ok 1 %s $*"\n' "$name" >"$T/clone/scripts/$name"
  done
  its_tests --all records models
  assert_success
  assert_equal "$(grep '^ok' <<<"$output")" \
    $'ok 1 check-models \nok build release, warnings as errors\nok 1 simulate --shape records --seeds 100000'
  assert_equal "${lines[-1]}" '3 passed, 0 failed'
  run "$T/clone/scripts/test" --all models record
  assert_failure
  assert_output --partial "test: --all has no part 'record'; it has checks models fuzz "
}

@test "the parts of --all are those that its usage names" {
  run env -C "$REPO" python3 -Bc 'import importlib
print(*importlib.import_module("scripts.run-tests").Run("all").parts_of_all())'
  assert_success
  assert_equal "$output" "$("$REPO/scripts/test" --help | sed -n '/--all PART/,/FILE\.\.\./p' |
    sed 's/^ *scripts.*only://; /FILE/d' | xargs)"
}

@test "an older version that was built once needs no history" {
  local kept
  a_clone --depth 1
  kept=$T/clone/build/previous/$(sed -n 's/^readonly previous=//p' "$REPO/scripts/build-previous")
  install -D -m 755 /bin/true "$kept/rlock"
  run "$T/clone/scripts/build-previous"
  assert_success
  assert_output "$(realpath "$kept")/rlock"
}
