#!/usr/bin/env bats
# The instructions of a run are those that the repository tells of: scripts/instructions.
load ../lib/rlock

counted_with() {
  INSTRUCTIONS_CSV=$1 run --separate-stderr "$REPO/scripts/instructions" "$RLOCK_BIN"
  ((status != 77)) || skip "$stderr"
}

@test "the help, a run, a busy one and a hand-off take as many instructions as before" {
  ! sanitized || return 0
  counted_with "$REPO/scripts/benchmark/instructions.csv"
  ((status == 0)) || fail "$output"
  assert_line '1..4'
}

@test "a figure that is five percent off, up or down, is a failure, and named" {
  ! sanitized || return 0
  awk -F, -v OFS=, '$4 == "run" { $5 = int($5 * 1.05) } $4 == "busy" { $5 = int($5 / 1.05) } 1' \
    "$REPO/scripts/benchmark/instructions.csv" > "$T/figures.csv"
  counted_with "$T/figures.csv"
  assert_equal "$status" 1
  assert_line --regexp '^not ok 2 run: .* -[45]\.[0-9] %$'
  assert_line --regexp '^not ok 3 busy: .* [+][45]\.[0-9] %$'
  assert_line --regexp '^ok 4 handoff: '
}
