#!/usr/bin/env bats
# The record of killed runs. KILLS=1000 scripts/test kills: so many, which takes some minutes.
# stores: redis postgres etcd local
load ../lib/rlock
load ../lib/stores

# Two seconds each with a sanitizer on a busy machine.
[[ -z ${BATS_TEST_TIMEOUT:-} ]] || BATS_TEST_TIMEOUT=$((BATS_TEST_TIMEOUT + ${KILLS:-100}))

@test "after each of ${KILLS:-100} kills at random instants, of rlock, of its tree, of its host, the log says how the run ended" {
  mkdir "$T/kills"
  run "$PYTHON" -B "$LIB/kills.py" "$RLOCK_BIN" "$RLOCK_SERVER" "${KILLS_SEED:-1}" "${KILLS:-100}" "$T/kills"
  printf '# %s\n' "${lines[@]}" >&3
  assert_success
}
