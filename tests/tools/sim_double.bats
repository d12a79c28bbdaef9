#!/usr/bin/env bats
# The Redis that the simulator runs on: a real one would say the same. scripts/simulate --double has more of it.
load ../lib/rlock

compare() { "$REPO/scripts/simulate" --double "$@"; }

@test "the simulator's Redis answers thousands of random scripts and commands as a real one does" {
  run compare --seeds 40
  assert_success
  echo "# ${lines[1]}" >&3
  assert_output --regexp '# [0-9]+ single commands and small scripts: 0 differ'
  [[ $output =~ ([0-9]+)' scripts ('([0-9]+)' granted)' ]]
  ((BASH_REMATCH[1] > 4000 && BASH_REMATCH[2] > 400))
}

@test "the same seed makes the same acts" {
  run -0 compare --seed 7 --seeds 3
  first=$(sed 's/[0-9.]* s, .*//; /remainders/d' <<<"$output")
  run -0 compare --seed 7 --seeds 3
  assert_equal "$(sed 's/[0-9.]* s, .*//; /remainders/d' <<<"$output")" "$first"
}

@test "scripts/simulate says what it accepts" {
  run -64 compare --seeds x
  assert_output --partial 'scripts/simulate --double [--seed N]'
}
