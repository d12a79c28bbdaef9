#!/usr/bin/env bats
# The README: short, true, and the same in both languages.
load ../lib/rlock
load ../lib/recipes

# code FILE [HEADING]: its command lines, without what a comment says behind them
code() {
  awk -v heading="${2:-}" '
    /^## / { inside = heading == "" || $0 == "## " heading }
    inside && /^    / { sub(/^    /, ""); sub(/ +#.*/, ""); print }' "$1"
}

@test "the README has at most 9 KB" {
  assert_less "$(wc -c <"$REPO/README.md")" 9217
}

@test "the README says what its reader wants to know first, first" {
  run sed -n 's/^## //p' "$REPO/README.md"
  assert_equal "$(printf '%s\n' "${lines[@]:0:6}" | paste -sd ,)" \
    'Try it,Install,Cron on several hosts,CI,Three in the morning,What it promises'
}

# outline FILE: its headings' levels, items and rows of tables, code and links, in order
outline() {
  sed -nE 's/^(#+) .*/\1/p; s/^(\*|[0-9]\.) .*/\1/p; s/^\|.*/|/p' "$1"
  code "$1"
  grep -oE '\]\([^)]*\)' "$1" | grep -v README
}

@test "the Chinese README has the headings, items, tables, command lines and links of the English one" {
  outline "$REPO/README.md" >"$T/english"
  outline "$REPO/README.zh-CN.md" >"$T/chinese"
  assert_less 60 "$(wc -l <"$T/english")"
  diff "$T/english" "$T/chinese"
}

@test "every link of the pages for readers leads to a file" {
  local page link
  for page in README.md README.zh-CN.md SECURITY.md CONTRIBUTING.md scripts/benchmark/README.md; do
    while read -r link; do
      [[ $link == http* || -e $REPO/$(dirname "$page")/$link ]] || fail "$page: nothing there: $link"
    done < <(grep -oE '\]\([^)# ]+' "$REPO/$page" | cut -c 3-)
  done
}

@test "the README's lines for cron and CI do what it says of them" {
  at_home
  code "$REPO/README.md" 'Cron on several hosts' | here >"$T/crontab"
  job opt/nightly
  lonely opt/enqueue
  sed -i 's/\* \* \* /&root /' "$T/crontab" # a user's own crontab names no user
  cron_entry "$T/crontab" @day
  launch host1 "${COMMAND[@]}"
  wait_until begun opt/nightly 1
  launch host2 "${COMMAND[@]}"
  wait_queued nightly 1
  touch "$T/opt/nightly.go"
  finish host1
  assert_success
  finish host2
  assert_success
  assert_silent
  assert_log opt/nightly begin end
  cron_entry "$T/crontab" enqueue
  launch host1 "${COMMAND[@]}"
  finish host1
  assert_log opt/enqueue alone
  code "$REPO/README.md" CI >"$T/ci"
  lonely work/deploy.sh
  run sh "$T/ci"
  assert_success
  assert_log work/deploy.sh alone
}

@test "the README's lines for three in the morning work" {
  local line
  at_home
  hold deployment -k deploy:prod
  attempt -k nightly -- true
  while read -r line; do
    case $line in
      *force-release*) line+=' --yes' && hold deployment -k deploy:prod ;;
    esac
    run sh -c "$line"
    ((status == 0)) || [[ $line == *doctor ]] || fail "$line: exit $status: $output"
  done < <(code "$REPO/README.md" 'Three in the morning')
  finish deployment
  assert_equal "$status" 76
}

@test "the README's statement about a fence refuses the late one" {
  local statement
  statement=$(code "$REPO/README.md" 'What it does not promise')
  sqlite3 "$T/db" 'CREATE TABLE report (id INTEGER PRIMARY KEY, total INTEGER, fence INTEGER); INSERT INTO report VALUES (1, 0, 20)'
  run sqlite3 "$T/db" "${statement//'$RLOCK_FENCE'/19}; SELECT changes()"
  assert_output 0
  run sqlite3 "$T/db" "${statement//'$RLOCK_FENCE'/21}; SELECT changes()"
  assert_output 1
}

# words FILE: of a picture, in one line, since where one ends hangs on how long it took; each number as one digit, and
# without the end of a name that the length of a pid has cut
words() {
  sed 's/<style>.*//; /^text {/,/<\/style>/d; s/<[^>]*>//g' "$1" | tr -d ' \n' | sed 's/[0-9a-f]\{40\}/TOKEN/; s/[0-9][0-9]*/0/g; s/0\(ms\|s\|m\)/0/g; s,/[a-z.]*…,…,g' |
    grep .
}

@test "the README's picture is what a terminal shows today" {
  command -v tmux >/dev/null || skip 'no tmux here'
  unshare --uts true 2>/dev/null || skip 'a host may not be given another name here'
  "$PYTHON" -c 'import sys, xml.etree.ElementTree as tree; tree.parse(sys.argv[1])' "$REPO/scripts/demo/terminal.svg"
  RLOCK_BIN=$RLOCK_BIN "$REPO/scripts/demo/picture" "$T/picture.svg"
  words "$REPO/scripts/demo/terminal.svg" >"$T/then"
  words "$T/picture.svg" >"$T/now"
  diff "$T/then" "$T/now" || fail 'make it anew: scripts/demo/picture'
}
