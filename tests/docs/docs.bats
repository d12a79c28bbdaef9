#!/usr/bin/env bats
# Agreement of --help, the man pages, the README and the source.
load ../lib/rlock

# Every subcommand, a line each, as --help lists them.
subcommands() {
  rlock --help | sed -n '/^Commands, /,/^$/s/^  \([a-z-]\+\) .*/\1/p'
}

# options_in_help [COMMAND]: its long options, sorted.
options_in_help() {
  rlock "$@" --help | grep -oE -e '^ {2,6}(-., )?--[a-z][a-z-]+' | grep -oE -e '--.*' | sort -u
}

# man_text FILE...: pages of man, without escapes
man_text() {
  # shellcheck disable=SC2048,SC2086
  (cd "$REPO/man" && cat $*) | sed 's/\\-/-/g; s/\\&//g'
}

# page_of [COMMAND]: the page whose SYNOPSIS has it; the run's is rlock.1.
page_of() {
  [[ ${1:-} ]] || { echo rlock.1 && return; }
  local page
  for page in "$REPO"/man/rlock-*.1; do
    ! synopsis "${page##*/}" | grep -qx "$1" || echo "${page##*/}"
  done
}

# synopsis PAGE: the commands there
synopsis() {
  man_text "$1" | sed -n '/^\.Sh SYNOPSIS/,/^\.Sh DESC/s/^\.Cm \([a-z-]\+\).*/\1/p'
}

# options_in_man PAGE...: the words after .Fl, each an option: `Fl -ttl` is --ttl, and so is the second of `Fl -wait , -ttl`.
options_in_man() {
  man_text "$@" | grep 'Fl -' | grep -oE -e ' -[a-z][a-z-]+' | sed 's/^ -/--/' | sort -u
}

@test "the commands of --help are those of rlock(1), and each has one page" {
  local command
  subcommands | sort >"$T/help"
  grep -qx force-release "$T/help"
  man_text rlock.1 | sed -n '/^\.Sh COMMANDS/,/^\.Sh OPTIONS/s/^\.It Cm //p' | sed 's/ Ar .*//; s/ , /\n/g' |
    grep -vx -e help -e completion | sort >"$T/man"
  diff "$T/help" "$T/man"
  while read -r command; do
    assert_equal "$command: $(page_of "$command" | wc -l)" "$command: 1"
  done <"$T/help"
}

@test "a page of several commands is installed under the name of each" {
  local command
  while read -r command; do
    [[ -e $REPO/man/rlock-$command.1 ]] ||
      grep -qE "[ (]$(page_of "$command" | sed 's/^rlock-//; s/\.1$//'):$command\b" "$REPO/cmake/Install.cmake" ||
      fail "no rlock-$command(1)"
    man_text "$(page_of "$command")" | sed -n '/^\.Sh NAME/,/^\.Sh SYN/p' | grep -qE "^\.Nm rlock-$command( ,)?$" ||
      fail "NAME of $(page_of "$command") lacks rlock-$command"
  done < <(subcommands)
}

@test "every option of every command's --help is in the page of that command, or among those of every command" {
  local command
  man_text rlock.1 | sed -n '/^\.Ss Options of every command/,/^\.Sh /p' >"$T/every"
  # The empty word is the run.
  while read -r command; do
    (options_in_man "$(page_of "$command")" && cd "$T" && grep -oE -e 'Fl -[a-z][a-z-]+' every | sed 's/^Fl -/--/') | sort -u >"$T/man"
    # shellcheck disable=SC2086
    options_in_help $command >"$T/help"
    [[ -s $T/help || $command == metrics ]] # it has none of its own
    run comm -23 "$T/help" "$T/man"
    assert_output ''
  done < <(echo && subcommands)
}

@test "every option of the man pages is in some --help" {
  local command
  while read -r command; do
    # shellcheck disable=SC2086
    options_in_help $command
  done < <(echo && subcommands) | sort -u >"$T/help"
  man_text '*.[157]' | grep -oE -e '^\.(It|Op) .*Fl -[a-z][a-z-]+' | grep -oE -e 'Fl -[a-z][a-z-]+' | sed 's/^Fl -/--/' | sort -u >"$T/man"
  [[ -s $T/man ]]
  run comm -13 "$T/help" "$T/man"
  assert_output ''
}

@test "each option, variable and exit code of a run is explained once, not in two pages" {
  local twice
  twice=$(man_text rlock.1 rlock.conf.5 rlock-{servers,limits,slots,formats}.7 |
    grep -E '^\.It (Fl|Ev) ' | sed 's/ , .*//' | sort | uniq -d | grep -v -e ' Ta ' -e RLOCK_SERVER -e RLOCK_PASSWORD_FILE || true)
  assert_equal "$twice" ''
}

@test "every page that a page, the program or the README names is there" {
  local name
  (grep -ohE '^\.Xr rlock[a-z.-]* [0-9]' "$REPO"/man/* | sed -E 's/^\.Xr ([^ ]+) /\1./'
    grep -rohE 'rlock(-[a-z]+|\.conf)?\([0-9]\)' "$REPO/src" "$REPO/README.md" "$REPO/README.zh-CN.md" "$REPO/CONTRIBUTING.md" "$REPO/SECURITY.md" |
      sed -E 's/\(([0-9])\)/.\1/') | sort -u >"$T/names"
  grep -qx rlock-limits.7 "$T/names"
  while read -r name; do
    [[ -e $REPO/man/$name ]] || fail "no page $name"
  done <"$T/names"
}

@test "every section of a page that a page, the program or SECURITY.md names is there" {
  local page section
  # `rlock-protocol(7), MANAGED SERVERS` and `LIMITS in rlock-limits(7)`; a string may be in two parts
  { find "$REPO/src" -name '*.?pp' -exec cat {} + && cat "$REPO/SECURITY.md"; } | tr -d '\n' | sed -E 's/" *"//g; s|/// *||g' >"$T/text"
  { grep -oE 'rlock(-[a-z]+|\.conf)?\([0-9]\), (under )?[A-Z][A-Z ]*[A-Z]' "$T/text" | sed -E 's/\(([0-9])\), (under )?/.\1 /'
    grep -oE '[A-Z][A-Z ]*[A-Z] in rlock(-[a-z]+|\.conf)?\([0-9]\)' "$T/text" | sed -E 's/(.*) in (.*)\(([0-9])\)/\2.\3 \1/'
  } | sort -u >"$T/sections"
  assert_less 3 "$(wc -l <"$T/sections")"
  while read -r page section; do
    grep -qxF ".Sh $section" "$REPO/man/$page" || fail "$page has no section $section"
  done <"$T/sections"
}

@test "rlock(1) says what it does on its first screen, and has at most 350 lines of 80 columns" {
  mandoc -T ascii "$REPO/man/rlock.1" | col -bx >"$T/page"
  assert_less "$(wc -l <"$T/page")" 351
  head -n 24 "$T/page" | grep -q '^DESCRIPTION'
  sed -n '/^     To try/,/^COMMANDS/p' "$T/page" | grep -m 1 'rlock -' | grep -q 'rlock -S file:'
}

@test "the man pages fit a terminal of 80 columns: synopsis, examples and all" {
  local page
  for page in "$REPO"/man/*.[1357]; do
    run mandoc -T lint -W warning "$page"
    assert_success
    mandoc -T ascii "$page" | col -bx | grep -E '^.{81}' >"$T/wide" || continue
    fail "$(basename "$page"), wider than 80 columns: $(<"$T/wide")"
  done
}

@test "the exit codes of the man pages are those of src/cmd/exit_code.hpp" {
  grep -oE '= *[0-9]+' "$REPO/src/cmd/exit_code.hpp" | grep -oE '[0-9]+' | sort -un >"$T/source"
  man_text 'rlock*.1' | sed -n '/^\.Sh EXIT STATUS/,/^\.El/p' | grep -E '^\.It' | grep -oE '[0-9]+' | sort -un >"$T/man"
  [[ -s $T/source && -s $T/man ]]
  # every code of the source is documented; the page also has 128+N and the operators' codes
  run comm -23 <(sort "$T/source") <(sort "$T/man")
  assert_output ''
}

@test "every variable in the ENVIRONMENT of rlock.conf(5) is known to the program" {
  grep -ohE 'RLOCK_[A-Z_]+|REDISCLI_AUTH' -r "$REPO/src" --include='*.cpp' --include='*.hpp' | sort -u >"$T/source"
  man_text rlock.conf.5 | sed -n '/^\.Sh ENVIRONMENT/,/^\.Sh FILES/p' | grep -oE 'RLOCK_[A-Z_]+|REDISCLI_AUTH' | sort -u >"$T/man"
  [[ -s $T/man ]]
  local variable
  while read -r variable; do
    grep -qx "$variable" "$T/source" || [[ -n $(variable_of_option "$variable") ]] || fail "unknown: $variable"
  done <"$T/man"
}

# A variable named after a long option may be spelled by a rule and stand nowhere in the source.
variable_of_option() {
  local option=${1#RLOCK_}
  option=--${option//_/-}
  sed -n 's/^ *Option{.name = "\([a-z-]*\)".*/--\1/p' "$REPO/src/cmd/options.hpp" | grep -x -e "${option,,}" || true
}

@test "commands that the README and CONTRIBUTING show exist" {
  local word
  grep -ohE '^ *(\$ )?(scripts/[a-z-]+|\.ci/run)' "$REPO/README.md" "$REPO/CONTRIBUTING.md" | grep -oE '(scripts/|\.ci/).*' | sort -u >"$T/scripts"
  [[ -s $T/scripts ]]
  while read -r word; do
    [[ -x $REPO/$word ]] || fail "not there: $word"
  done <"$T/scripts"
  while read -r word; do
    rlock "$word" --help >/dev/null || fail "no command: $word"
  done < <(grep -oE '(^ {4,}(\$ )?|`)rlock [a-z][a-z-]*' "$REPO/README.md" | grep -oE '[a-z-]+$' | sort -u)
}

@test "places that CONTRIBUTING sends to exist" {
  local word
  grep -oE '`(src|tests)/[^` ]+`' "$REPO/CONTRIBUTING.md" | tr -d '`' | sort -u >"$T/places"
  [[ -s $T/places ]]
  while read -r word; do
    compgen -G "$REPO/$word*" >/dev/null || fail "not there: $word"
  done <"$T/places"
}

@test "the version is the same everywhere" {
  local version
  version=$(rlock --version)
  version=${version%%$'\n'*}
  version=${version#rlock }
  grep -qE "^## ${version//./\\.} " "$REPO/CHANGELOG.md"
  grep -qxF "set(RLOCK_VERSION $version)" "$REPO/CMakeLists.txt"
}

# publish CSV: as `scripts/bench peers --publish` does it, on copies of what is committed: $T/peers.svg and $T/page.md
publish() {
  local csv=$1
  cp "$REPO/scripts/benchmark/README.md" "$T/page.md"
  "$PYTHON" -B "$REPO/scripts/benchmark/publish.py" "$csv" "$T/peers.svg" "$T/page.md"
}

@test "the tables and the plot of rlock and its peers are made of the CSV that lies beside them" {
  publish "$REPO/scripts/benchmark/peers.csv"
  diff "$REPO/scripts/benchmark/README.md" "$T/page.md"
  cmp "$REPO/scripts/benchmark/peers.svg" "$T/peers.svg"
  grep -qF '](peers.svg)' "$REPO/scripts/benchmark/README.md"
}

@test "another figure in the CSV is another table and another plot" {
  awk -F, -v OFS=, '$1 == "run" && /rlock, Unix socket/ { $(NF - 2) = "7.77" } { print }' \
    "$REPO/scripts/benchmark/peers.csv" >"$T/peers.csv"
  publish "$T/peers.csv"
  grep -qF '| rlock, Unix socket | 7.77 |' "$T/page.md"
  grep -qF '>7.77<' "$T/peers.svg"
  "$PYTHON" -c 'import sys, xml.etree.ElementTree as tree; tree.parse(sys.argv[1])' "$T/peers.svg"
}
