#!/usr/bin/env bats
# The scripts for readers, writers and permits, spoken to directly: what clients make of them is in shared.bats.
load ../../lib/rlock

# enter ID [TTL [CONFIRM-WITHIN [PATIENCE [MAX-WAITERS [SUPERSEDE]]]]]
enter() {
  local id=$1 ttl=${2:-30000} confirm_within=${3:-20000} patience=${4-90000}
  local -a more=()
  [[ -z ${5-} ]] || more+=(max_waiters "$5")
  [[ -z ${6-} ]] || more+=(supersede "$6")
  script enter id "$id" ttl "$ttl" confirm_within "$confirm_within" patience "$patience" "${more[@]}"
}

# leave ID [MIN-HOLD [CONFIRM-WITHIN]]
leave() {
  local id=$1 min_hold=${2:-0} confirm_within=${3:-20000}
  script leave id "$id" confirm_within "$confirm_within" how release min_hold "$min_hold"
}

withdraw() {
  local id=$1
  script leave id "$id" confirm_within 2000 how cancel
}

mail_of() {
  local token=$1
  redis --raw lrange "$(companion "$K" mail):$token" 0 -1 | paste -sd' '
}

is_granted() {
  [[ $1 == 'granted '* ]] || fail "$1"
}

is_queued() {
  [[ $1 == 'queued '* ]] || fail "$1"
}

@test "readers ahead of a writer run together, one waking the next; later ones wait behind it" {
  is_granted "$(enter W0)"
  is_queued "$(enter 'shared R1')"
  is_queued "$(enter 'shared R2')"
  is_queued "$(enter 'shared R3')"
  is_queued "$(enter W4)"
  is_queued "$(enter 'shared R5')"
  assert_equal "$(leave W0)" 1
  assert_equal "$(mail_of R1)" wake
  is_granted "$(enter 'shared R1')"
  assert_equal "$(mail_of R2)" 'next wake'
  is_granted "$(enter 'shared R2')"
  is_granted "$(enter 'shared R3')"
  assert_equal "$(redis get "$K")" rlock:shared
  is_queued "$(enter 'shared R5')"
  is_queued "$(enter 'shared R6')"
  is_queued "$(enter W4)"
  assert_equal "$(leave R2)" 1
  assert_equal "$(leave R1)" 1
  assert_equal "$(redis get "$K")" rlock:shared
  assert_equal "$(leave R3)" 1
  assert_equal "$(redis get "$K")" W4
  is_granted "$(enter W4)"
  assert_equal "$(leave W4)" 1
  assert_equal "$(redis get "$K")" 'shared R5'
  is_granted "$(enter 'shared R5')"
  is_granted "$(enter 'shared R6')"
}

@test "every holder has its own fence, and asks for it again" {
  local first second
  first=$(enter 'shared R1')
  second=$(enter 'shared R2')
  assert_less "$(field fence "$first")" "$(field fence "$second")"
  assert_equal "$(enter 'shared R1')" "$first again 1"
  assert_equal "$(enter 'shared R2')" "$second again 1"
  assert_equal "$(redis zcard "$(companion "$K" held)")" 2
}

@test "the marker lasts as long as the longest lease, and shrinks when that one lets go" {
  is_granted "$(enter 'shared R1' 60000)"
  is_granted "$(enter 'shared R2' 5000)"
  assert_less 50000 "$(redis pttl "$K")"
  leave R1
  assert_less "$(redis pttl "$K")" 5001
  assert_less 0 "$(redis pttl "$K")"
}

@test "a lease that ended among others is over: not refreshed, its permit given to the next" {
  is_granted "$(enter 'permits=2 P1' 30000)"
  is_granted "$(enter 'permits=2 P2' 3000)"
  is_queued "$(enter 'permits=2 P3' 30000)"
  wait_until gone_from_holders P2
  assert_equal "$(script renew P2 30000)" -1
  is_granted "$(enter 'permits=2 P3' 30000)"
  is_queued "$(enter 'permits=2 P2' 30000)"
}

gone_from_holders() {
  [[ $(script check "$1") == 'elsewhere holder '* ]]
}

@test "a free permit wakes the first waiter, with the second as its witness" {
  is_granted "$(enter 'permits=2 P1')"
  is_granted "$(enter 'permits=2 P2')"
  is_queued "$(enter 'permits=2 P3')"
  is_queued "$(enter 'permits=2 P4')"
  leave P1 0 5000
  assert_equal "$(mail_of P3)" wake
  assert_equal "$(mail_of P4)" next
  # P3 is dead: the server says when P4 is to look again, and then lets it in
  local answer look_in
  answer=$(enter 'permits=2 P4')
  is_queued "$answer"
  look_in=$(field look_in "$answer")
  assert_less 0 "$look_in"
  assert_less "$look_in" 5010
  sleep "$((look_in / 1000 + 1))" # the length of a claim: time itself is the matter
  is_granted "$(enter 'permits=2 P4')"
}

@test "a woken waiter is not woken again by every change, nor does its claim grow" {
  is_granted "$(enter 'permits=3 P1')"
  is_granted "$(enter 'permits=3 P2')"
  is_granted "$(enter 'permits=3 P3')"
  is_queued "$(enter 'permits=3 P4')"
  leave P1
  local deadline
  deadline=$(redis zscore "$(companion "$K" alive)" 'permits=3 P4')
  leave P2
  assert_equal "$(mail_of P4)" wake
  assert_equal "$(redis zscore "$(companion "$K" alive)" 'permits=3 P4')" "$deadline"
}

@test "those who disagree are told with whom, whether those hold or only wait" {
  is_granted "$(enter 'permits=2 P1')"
  assert_equal "$(enter 'permits=3 X')" 'mismatch mode permits=2 token P1'
  assert_equal "$(enter 'shared X')" 'mismatch mode permits=2 token P1'
  assert_equal "$(enter X)" 'mismatch mode permits=2 token P1'
  redis set "$K" foreign px 30000
  is_queued "$(enter 'permits=2 P2')"
  assert_equal "$(enter 'shared X')" 'mismatch mode permits=2 token P2'
}

@test "a foreign value is no disagreement, and no marker" {
  redis set "$K" foreign px 30000
  is_queued "$(enter 'shared R1')"
  [[ $(script check R1) == 'elsewhere holder kind foreign token foreign '* ]]
}

@test "holders of an earlier marker do not count once the key was deleted" {
  is_granted "$(enter 'permits=2 P1')"
  is_granted "$(enter 'permits=2 P2')"
  redis del "$K"
  is_granted "$(enter 'permits=2 P3')"
  is_granted "$(enter 'permits=2 P4')"
  assert_equal "$(script renew P1 30000)" -1
  assert_equal "$(leave P1)" -1
  assert_equal "$(redis zcard "$(companion "$K" held)")" 2
}

@test "min-hold shortens the expiry to what is left of it, for an owner only" {
  is_granted "$(enter W 600000)"
  assert_equal "$(leave X 50000)" -1
  assert_less 500000 "$(redis pttl "$K")"
  assert_equal "$(leave W 50000)" 1
  assert_equal "$(redis get "$K")" W
  assert_less "$(redis pttl "$K")" 50001
  assert_less 10000 "$(redis pttl "$K")"
}

@test "a key that somebody made last is held all the same" {
  is_granted "$(enter W 60000)"
  redis persist "$K"
  assert_less 60000 "$(field left "$(script check W)")"
}

@test "min-hold of one among several keeps its permit" {
  is_granted "$(enter 'permits=2 P1')"
  is_granted "$(enter 'permits=2 P2')"
  assert_equal "$(leave P1 5000)" 1
  is_queued "$(enter 'permits=2 P3')"
  assert_equal "$(leave P2)" 1
  is_granted "$(enter 'permits=2 P3')"
  assert_less "$(field left "$(script check P1)")" 5001
}

@test "a withdrawn reader gives back what it was granted unheard, and lets the next one in" {
  is_granted "$(enter 'shared R1')"
  is_queued "$(enter W2)"
  is_queued "$(enter 'shared R3')"
  assert_equal "$(withdraw W2)" 1
  assert_equal "$(mail_of R3)" wake
  is_granted "$(enter 'shared R3')"
  assert_equal "$(withdraw 'shared R3')" 1
  assert_equal "$(withdraw 'shared R1')" 1
  free "$K"
}

@test "to supersede sends those away who came before, and asks the holders to stop" {
  is_granted "$(enter W0)"
  is_queued "$(enter W1)"
  is_queued "$(enter 'shared R2')"
  is_queued "$(enter N 30000 2000 30000 '' 'superseded by N')"
  assert_equal "$(mail_of W0)" 'stop - superseded by N'
  assert_equal "$(mail_of W1 | grep -o 'stop.*')" 'stop - superseded by N'
  assert_equal "$(redis zrange "$(companion "$K" queue)" 0 -1)" N
  is_queued "$(enter L)"
  is_queued "$(enter N 30000 2000 30000 '' 'superseded by N')"
  assert_equal "$(redis zcard "$(companion "$K" queue)")" 2
}

@test "nobody queues behind more than --max-waiters, and who has a place keeps it" {
  is_granted "$(enter W0)"
  [[ $(enter W1 30000 2000 30000 0) == 'busy holder kind holder token W0 '* ]]
  is_queued "$(enter W1 30000 2000 30000 1)"
  is_queued "$(enter W1 30000 2000 30000 1)"
  [[ $(enter W2 30000 2000 30000 1) == 'busy holder kind holder token W0 '*' waiting 1' ]]
}

@test "nothing but the fence is left when all have gone" {
  is_granted "$(enter 'shared R1')"
  is_queued "$(enter W2)"
  leave R1
  is_granted "$(enter W2)"
  leave W2
  run redis --raw keys "*$K*"
  assert_output "$(companion "$K" fence)"
}
