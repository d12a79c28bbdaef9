# shellcheck shell=bash
# Who waits for $K, as inspect tells: for stores that are asked through rlock alone.

held() { rlock inspect -q "$1" 2>/dev/null; }

# in_line COUNT: so many wait for $K.
in_line() {
  local count=$1
  [[ $(json 'len(d["waiters"])' inspect --json "$K") == "$count" ]]
}

# Two readers, a writer and two readers wait for a holder, in this order; all have their turn in it.
readers_and_writer_in_turn() {
  local name number=0
  hold holder -k "$K"
  for name in r1 r2 w r3 r4; do
    if [[ $name == w ]]; then
      start $name -k "$K" -w 60s -- sh -c "echo w >>'$T/order'"
    else
      start $name -k "$K" -w 60s --shared -- sh -c "echo r >>'$T/order'; sleep 0.2"
    fi
    wait_until in_line $((++number))
  done
  let_go holder
  for name in r1 r2 w r3 r4; do
    finish $name
    assert_success
  done
  assert_equal "$(paste -sd ' ' "$T/order")" 'r r w r r'
}
