#!/usr/bin/env bats
# The library as it is installed: found by CMake and by pkg-config, with no symbol that is not its header's.
load ../lib/rlock

BUILD=${RLOCK_BIN%/*}

setup_file() {
  export PREFIX=$BATS_FILE_TMPDIR/prefix
  cmake --install "$BUILD" --prefix "$PREFIX" >"$BATS_FILE_TMPDIR/log" 2>&1 || fail "$(<"$BATS_FILE_TMPDIR/log")"
}

teardown_file() { :; }

# is_checked: by a sanitizer, which other programs are not built for
is_checked() { grep -qE '^RLOCK_SANITIZE:STRING=.+' "$BUILD/CMakeCache.txt"; }

library() { find "$PREFIX" -name 'librlock.so.0'; }

# runs PROGRAM: takes a lock, which a holder's run forbids
runs() {
  own_server
  run "$1" "$RLOCK_SERVER" "$K"
  assert_success
  assert_output 'held and released'
  hold holder -k "$K"
  run "$1" "$RLOCK_SERVER" "$K"
  assert_equal "$status" 75
  assert_output --partial "is held by $(id -un)@"
  let_go holder
}

@test "a project finds it by CMake, and is linked with the shared or the static library" {
  ! is_checked || return 0
  quietly cmake -S "$REPO/tests/library/project" -B "$T/built" -DCMAKE_PREFIX_PATH="$PREFIX"
  quietly cmake --build "$T/built"
  run readelf --dynamic "$T/built/shared"
  assert_output --partial 'librlock.so.0'
  run readelf --dynamic "$T/built/static"
  refute_output --partial 'librlock'
  runs "$T/built/shared"
  runs "$T/built/static"
}

@test "a project finds it by pkg-config" {
  ! is_checked || return 0
  local pc
  pc=$(find "$PREFIX" -name rlock.pc)
  export PKG_CONFIG_PATH=${pc%/*}
  # shellcheck disable=SC2046  # words
  quietly g++ -std=c++20 -o "$T/main" "$REPO/tests/library/project/main.cpp" $(pkg-config --cflags --libs rlock)
  LD_LIBRARY_PATH=$(dirname "$(library)") runs "$T/main"
}

quietly() { "$@" >"$T/log" 2>&1 || fail "$* failed: $(<"$T/log")"; }

@test "it has the symbols of its header, and no other" {
  ! is_checked || return 0
  run bash -c 'nm --dynamic --defined-only --demangle "$1" | cut -d " " -f 3-' - "$(library)"
  assert_success
  assert_output --partial 'rlock::v0::try_acquire('
  run bash -c 'grep -vE "rlock::v0::|^RLOCK_0$" <<<"$1"' - "$output"
  assert_output ''
}

# abi_tool NAME ARGUMENT...: of libabigail
abi_tool() {
  local name=$1
  shift
  "$name" --suppressions "$REPO/src/library/librlock.abi.suppressions" "$@"
}

@test "a program built with an earlier version goes on working" {
  ! is_checked || return 0
  # Other compilers describe the same in other ways.
  [[ $(g++ -dumpversion) == 12 ]] || return 0
  local abi=$REPO/src/library/librlock.abi
  abi_tool abidw --headers-dir "$REPO/include" --drop-private-types --exported-interfaces-only --no-corpus-path \
    --no-comp-dir-path --no-show-locs --debug-info-dir "$BUILD" --out-file "$T/now.abi" "$BUILD/librlock.so"
  run abi_tool abidiff "$abi" "$T/now.abi"
  ((status == 0)) || fail "$output"$'\n'"if no version has been released since: cp $T/now.abi src/library/librlock.abi"
}

@test "it takes no library but those of C and C++" {
  ! is_checked || return 0
  run bash -c 'readelf --dynamic "$1" | sed -n "s/.*NEEDED.*\[\([a-z+_]*\).*/\1/p" | sort' - "$(library)"
  refute_output --regexp 'ssl|pq|hiredis|zookeeper|fmt'
}

@test "a plugin that is unloaded while a name is being looked up leaves a program that runs on" {
  ! is_checked || return 0
  quietly g++ -std=c++20 -shared -fPIC -I "$PREFIX/include" -o "$T/plugin.so" "$REPO/tests/library/plugin.cpp" \
    "$(library)" -Wl,-rpath,"$(dirname "$(library)")"
  quietly g++ -std=c++20 -rdynamic -o "$T/host" "$REPO/tests/library/host.cpp" -ldl -pthread
  run "$T/host" "$T/plugin.so" redis://locks.example.net
  assert_success
  assert_output $'unreachable\nended'
}
