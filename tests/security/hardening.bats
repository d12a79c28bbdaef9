#!/usr/bin/env bats
# The barriers between a memory error and its exploit: facts about the built program.
load ../lib/rlock

setup_file() { :; }
teardown_file() { :; }
use_server() { :; }

BUILD=${RLOCK_BIN%/*}

# A release is two programs (tests/packaging/static.bats): what is said here holds for each.
PROGRAMS=("$RLOCK_BIN")
[[ $(readelf --wide --program-headers "$RLOCK_BIN") == *INTERP* ]] || PROGRAMS+=("$BUILD/with-libraries/rlock")

elf() { readelf --wide "$@" "$program"; }

# cached NAME: what the build was configured with.
cached() {
  local name=$1
  sed -n "s/^$name:[^=]*=//p" "$BUILD/CMakeCache.txt"
}

is_release() { [[ $(cached CMAKE_BUILD_TYPE) == Release ]]; }
is_of_gcc() { [[ $(cached CMAKE_CXX_COMPILER) != *clang* ]]; }

# without_flag FLAG: what is installed and was compiled without it: sources, or the batches of sources that the build makes.
without_flag() {
  local flag=$1
  "$PYTHON" -c '
import json, re, sys
build, root, flag = sys.argv[1:]
units = [u for u in json.load(open(build + "/compile_commands.json")) if not u["file"].startswith((root + "/tests/", root + "/scripts/"))]
sources = set()
for unit in units:
    sources |= {unit["file"]} if "/Unity/" not in unit["file"] else set(re.findall("#include \"(.*)\"", open(unit["file"]).read()))
assert len([s for s in sources if s.startswith(root + "/src/")]) > 50, sources
print("\n".join(u["file"] for u in units if flag not in u["command"].split()))' "$BUILD" "$(cached CMAKE_HOME_DIRECTORY)" "$flag"
}

# maps: of a run of the program, as its job sees it
maps() {
  # shellcheck disable=SC2016
  RLOCK_SERVER='' "$program" -S "file://$T" -k "$K" -- sh -c 'cat "/proc/$(ps -o ppid= -p "$PPID" | tr -d " ")/maps"'
}

mapped_at() { maps | sed -n "s|^\([0-9a-f]*\)-.*$program\$|\1|p;" | head -n 1; }

assert_flag() {
  local flag=$1
  run without_flag "$flag"
  assert_success
  assert_output ''
}

@test "it lies at another address each time" {
  for program in "${PROGRAMS[@]}"; do
    run elf --file-header
    assert_output --regexp 'Type: +DYN'
    run elf --dynamic
    assert_output --regexp 'FLAGS_1.* PIE'
  done
  # And so it is, where it is not switched off for the whole system or, as for thread sanitizers, for us.
  if is_release && [[ $(</proc/sys/kernel/randomize_va_space) != 0 && $(</proc/self/personality) != *4???? ]]; then
    for program in "${PROGRAMS[@]}"; do
      refute [ "$(mapped_at)" = "$(mapped_at)" ]
    done
  fi
}

@test "the loader's tables are read-only before main begins" {
  for program in "${PROGRAMS[@]}"; do
    run elf --program-headers
    assert_line --partial GNU_RELRO
    run elf --dynamic
    assert_output --regexp 'FLAGS.* (BIND_)?NOW'
    run elf --section-headers
    refute_output --partial '.got.plt' # it would be what stays writable
    is_release || continue
    # The data made read-only lies between the constants and the writable data.
    run maps
    assert_success
    assert_equal "$(grep -F " $program" <<<"$output" | awk '{ print $2 }' | paste -sd' ')" 'r--p r-xp r--p r--p rw-p'
  done
}

@test "nothing is both written to and executed, the stack neither, and constants are not executed" {
  local flags
  for program in "${PROGRAMS[@]}"; do
    run elf --program-headers
    assert_line --regexp '^ +GNU_STACK +.* RW +0x'
    flags=$(awk '$1 == "LOAD" { sub(/.*0x[0-9a-f]+ +0x[0-9a-f]+ +/, ""); sub(/ +0x.*/, ""); print }' <<<"$output")
    assert_equal "$flags" $'R\nR E\nR\nRW'
  done
}

@test "libraries come from the system's places and nowhere else" {
  for program in "${PROGRAMS[@]}"; do
    run elf --dynamic
    refute_output --regexp '(RPATH|RUNPATH)'
  done
  assert_output --partial NEEDED # the last one loads some
}

@test "the library's own checks of every index and iterator are on" {
  assert_flag -D_GLIBCXX_ASSERTIONS
}

@test "a release has its compiler's guards in every source" {
  is_release || return 0 # the sanitizers look closer
  assert_flag -fstack-protector-strong
  assert_flag -fstack-clash-protection
  assert_flag -D_FORTIFY_SOURCE=3
  assert_flag -O2 # without which there is no fortification
  if is_of_gcc; then
    assert_flag -ftrivial-auto-var-init=zero
  fi
  if [[ $(uname -m) == x86_64 ]]; then
    assert_flag -fcf-protection=full
  fi
}

@test "and they are in the program" {
  is_release || return 0
  run nm "$BUILD/librlock_core.a"
  assert_output --partial ' U __stack_chk_fail' # an array on the stack
  assert_output --partial ' U __realpath_chk'   # a call that writes into an array
  for program in "${PROGRAMS[@]}"; do
    run elf --syms
    assert_output --partial __stack_chk_fail
    assert_output --partial __realpath_chk
  done
}
