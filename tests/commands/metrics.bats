#!/usr/bin/env bats
# rlock metrics: what a monitor reads of locks, and the recipe that feeds it to Prometheus.
load ../lib/rlock

# value SAMPLE: of the last metrics.
value() {
  awk -v sample="$1" 'substr($0, 1, length(sample) + 1) == sample " " { print substr($0, length(sample) + 2) }' "$T/attempt.out"
}

# series FILE: what the parser of OpenMetrics makes of it, as JSON: a list of [name, labels, value].
series() {
  "$PYTHON" - "$1" <<'PYTHON'
import json, sys
from prometheus_client.openmetrics.parser import text_string_to_metric_families
with open(sys.argv[1], encoding="utf-8", newline="") as text:
    families = list(text_string_to_metric_families(text.read()))
assert all(family.type == "gauge" and family.documentation for family in families)
print(json.dumps([[s.name, s.labels, s.value] for family in families for s in family.samples]))
PYTHON
}

@test "holders, waiters and how long they have been so" {
  hold holder -k "$K"
  start first -k "$K" -w 60s -- true
  wait_queued "$K" 1
  start second -k "$K" -w 60s -- true
  wait_queued "$K" 2
  sleep 0.2
  attempt metrics "$K"
  assert_success
  assert_equal "$(value "rlock_holders{key=\"$K\"}")" 1
  assert_equal "$(value "rlock_waiters{key=\"$K\"}")" 2
  run awk -v hold="$(value "rlock_longest_hold_seconds{key=\"$K\"}")" -v wait="$(value "rlock_longest_wait_seconds{key=\"$K\"}")" \
    'BEGIN { exit !(wait >= 0.2 && wait <= hold && hold < 60) }'
  assert_success
  let_go holder
  finish first
  finish second
  attempt metrics "$K"
  assert_equal "$(value "rlock_holders{key=\"$K\"}")" 0
  assert_equal "$(value "rlock_waiters{key=\"$K\"}")" 0
  assert_equal "$(value "rlock_longest_wait_seconds{key=\"$K\"}")" 0.000
  assert_equal "$(value "rlock_longest_hold_seconds{key=\"$K\"}")" ''
}

@test "runs by outcome, when the last of each was, how long it took" {
  attempt -k "$K" -- sleep 0.3
  attempt -k "$K" -- sh -c 'exit 3'
  attempt -k "$K" -- sh -c 'exit 4'
  hold lost -k "$K"
  kill -9 "${PIDS[lost]}" "$(guardian_of lost)"
  attempt force-release --yes "$K"
  attempt metrics "$K"
  assert_equal "$(value "rlock_remembered_runs{key=\"$K\",outcome=\"succeeded\"}")" 1
  assert_equal "$(value "rlock_remembered_runs{key=\"$K\",outcome=\"failed\"}")" 2
  assert_equal "$(value "rlock_remembered_runs{key=\"$K\",outcome=\"lost\"}")" 1
  assert_equal "$(value "rlock_remembered_runs{key=\"$K\",outcome=\"cancelled\"}")" 0
  assert_equal "$(value "rlock_last_run_timestamp_seconds{key=\"$K\",outcome=\"cancelled\"}")" ''
  run awk -v good="$(value "rlock_last_run_timestamp_seconds{key=\"$K\",outcome=\"succeeded\"}")" -v bad="$(value "rlock_last_run_timestamp_seconds{key=\"$K\",outcome=\"failed\"}")" \
    -v now="$(date +%s)" 'BEGIN { exit !(good < bad && bad < now + 2 && good > now - 60) }'
  assert_success
  attempt -k "$K" -- sleep 0.3
  attempt metrics "$K"
  run awk -v last="$(value "rlock_last_run_seconds{key=\"$K\"}")" 'BEGIN { exit !(last >= 0.3 && last < 10) }'
  assert_success
}

@test "several keys and patterns, each lock once; a key that nobody uses is free" {
  own_server
  attempt -k batch:a -- true
  hold holder -k batch:b --history 0
  attempt -k other -- true
  attempt metrics 'batch:*' batch:a nobody
  assert_success
  assert_equal "$(grep -c '^rlock_holders{' "$T/attempt.out")" 3
  assert_equal "$(value 'rlock_holders{key="batch:b"}')" 1
  assert_equal "$(value 'rlock_holders{key="nobody"}')" 0
  assert_equal "$(value 'rlock_remembered_runs{key="batch:a",outcome="succeeded"}')" 1
  attempt metrics
  assert_equal "$(grep -c '^rlock_holders{' "$T/attempt.out")" 3
  let_go holder
}

@test "the parsers of OpenMetrics and of Prometheus take it, whatever the keys are called" {
  own_server
  local key
  # shellcheck disable=SC1003
  for key in plain 'a"b' 'back\slash' 'end\' $'new\nline' 'a\nb' $'\xff\xfe' '\xff\xfe' '{}=,#' ' # EOF' 'grün' $'\r' $'\u202e'; do
    attempt -k "$key" -- true
    assert_success
  done
  hold holder -k 'a"b'
  attempt metrics
  assert_success
  assert_equal "$(tail -n 1 "$T/attempt.out")" '# EOF'
  series "$T/attempt.out" >"$T/series"
  # 13 names stay 13, and each series is there once.
  assert_equal "$(jq '[.[] | select(.[0] == "rlock_holders") | .[1].key] | unique | length' "$T/series")" 13
  assert_equal "$(jq '(length) - (unique_by([.[0], .[1]]) | length)' "$T/series")" 0
  assert_equal "$(jq -c '[.[] | select(.[0] == "rlock_holders" and .[2] == 1) | .[1].key]' "$T/series")" '["a\"b"]'
  promtool check metrics <"$T/attempt.out"
  attempt metrics nothing-at-all
  promtool check metrics <"$T/attempt.out"
  series "$T/attempt.out" >"$T/series"
  let_go holder
}

# expressions: every query of the alert rules and of the board, a line each
expressions() {
  "$PYTHON" - "$REPO/scripts/monitoring" <<'PYTHON'
import json, sys, yaml
with open(sys.argv[1] + "/rules.yml") as text:
    rules = [rule for group in yaml.safe_load(text)["groups"] for rule in group["rules"]]
with open(sys.argv[1] + "/grafana.json") as text:
    board = json.load(text)
queries = [rule["expr"] for rule in rules]
queries += [target["expr"] for panel in board["panels"] for target in panel["targets"]]
queries += [each["query"] for each in board["templating"]["list"] if each["type"] == "query"]
for query in queries:
    print(" ".join(query.split()))
PYTHON
}

@test "every metric, label and outcome of the alert rules and of the board is one of rlock metrics" {
  local name
  hold holder -k "$K"
  attempt -k "$K:done" -- true
  attempt metrics "$K" "$K:done"
  sed -n 's/^# TYPE \([^ ]*\) .*/\1/p' "$T/attempt.out" | sort >"$T/names"
  grep -oE 'outcome="[a-z-]+"' "$T/attempt.out" | cut -d '"' -f 2 | sort -u >"$T/outcomes"
  let_go holder
  expressions >"$T/expressions"
  # A rule whose metric has another name never fires, and nothing says so.
  grep -oE '\brlock_[a-z_]+' "$T/expressions" | sort -u >"$T/named"
  assert_equal "$(wc -l <"$T/named")" 8
  diff "$T/names" "$T/named"
  run bash -c 'grep -oE "\\b(key|outcome|[a-z]+)(=~|!=|!~|=)\"" "$1" | tr -d "=~!\"" | sort -u | paste -sd " "' _ "$T/expressions"
  assert_output 'file key outcome'
  for name in $(grep -oE 'outcome=~?"[^"]*"' "$T/expressions" | cut -d '"' -f 2 | tr '|' '\n' | sort -u); do
    grep -qxF -e "$name" "$T/outcomes" || fail "no outcome $name"
  done
}

@test "each alert rule fires when it should, and only then" {
  cd "$REPO/scripts/monitoring"
  promtool check rules rules.yml
  promtool test rules rules-test.yml
  # each has a case in which it fires
  run bash -c 'comm -23 <(sed -n "s/^ *- alert: //p" rules.yml | sort) \
    <(grep -B 1 exp_alerts rules-test.yml | sed -n "s/.*alertname: \([A-Za-z]*\).*/\1/p" | sort -u)'
  assert_output ''
}

@test "the queries of the board are valid, and each panel has its place" {
  local query
  expressions >"$T/expressions"
  # promtool 2.42 checks queries only as rules.
  {
    printf 'groups:\n- name: board\n  rules:\n'
    grep -v ^label_values "$T/expressions" | while read -r query; do
      printf '  - record: board:query%d\n    expr: %s\n' "$((++n))" "$(jq -Rn --arg query "$query" '$query')"
    done
  } >"$T/board.yml"
  promtool check rules "$T/board.yml"
  run jq -e '[.panels[] | .id] | length == (unique | length)' "$REPO/scripts/monitoring/grafana.json"
  assert_success
  run jq -e '[.panels[] | .gridPos as $at | range($at.x; $at.x + $at.w) as $x | range($at.y; $at.y + $at.h) as $y | [$x, $y]] |
    length == (unique | length) and all(.[0] < 24)' "$REPO/scripts/monitoring/grafana.json"
  assert_success
}

@test "a server that does not answer: nothing is printed" {
  attempt -S "unix://$T/nothing.sock" metrics
  assert_equal "$status" 69
  assert_output ''
  attempt -S "unix://$T/nothing.sock" metrics one two
  assert_equal "$status" 69
  assert_output ''
}
