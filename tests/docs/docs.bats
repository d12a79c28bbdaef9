#!/usr/bin/env bats
# What --help, the man pages, the README and the source say is the same.
load ../lib/rlock

# Every subcommand, a line each, as --help lists them.
subcommands() {
  rlock --help | sed -n '/^Commands, /,/^$/s/^  \([a-z-]\+\) .*/\1/p'
}

# options_in_help [COMMAND]: its long options, sorted.
options_in_help() {
  rlock "$@" --help | grep -oE -e '^ {2,6}(-., )?--[a-z][a-z-]+' | grep -oE -e '--.*' | sort -u
}

man_text() {
  sed 's/\\-/-/g; s/\\&//g' "$REPO/man/rlock.1"
}

# The words after .Fl, each an option: `Fl -ttl` is --ttl.
options_in_man() {
  man_text | grep -oE -e '(Fl -|--)[a-z][a-z-]+' | sed 's/^Fl -/--/' | sort -u
}

@test "the commands of --help are those of the man page's SYNOPSIS" {
  subcommands | sort >"$T/help"
  grep -qx force-release "$T/help"
  man_text | sed -n '/^\.Sh SYNOPSIS/,/^\.Sh DESC/s/^\.Cm \([a-z-]\+\).*/\1/p' | grep -vx -e help -e completion | sort -u >"$T/man"
  diff "$T/help" "$T/man"
}

@test "every option of every command's --help is in the man page" {
  local command
  options_in_man >"$T/man"
  # The empty word is the run.
  while read -r command; do
    # shellcheck disable=SC2086
    options_in_help $command >"$T/help"
    [[ -s $T/help ]]
    run comm -23 "$T/help" "$T/man"
    assert_output ''
  done < <(echo && subcommands)
}

@test "every option of the man page is in some --help" {
  local command
  while read -r command; do
    # shellcheck disable=SC2086
    options_in_help $command
  done < <(echo && subcommands) | sort -u >"$T/help"
  man_text | grep -oE -e '^\.(It|Op) .*Fl -[a-z][a-z-]+' | grep -oE -e 'Fl -[a-z][a-z-]+' | sed 's/^Fl -/--/' | sort -u >"$T/man"
  [[ -s $T/man ]]
  run comm -13 "$T/help" "$T/man"
  assert_output ''
}

@test "the man pages fit a terminal of 80 columns: synopsis, examples and all" {
  local page
  for page in "$REPO"/man/*.[17]; do
    run mandoc -T lint -W warning "$page"
    assert_success
    mandoc -T ascii "$page" | col -bx | grep -E '^.{81}' >"$T/wide" || continue
    fail "$(basename "$page"), wider than 80 columns: $(<"$T/wide")"
  done
}

@test "the exit codes of the man page are those of src/cmd/exit_code.hpp" {
  grep -oE '= *[0-9]+' "$REPO/src/cmd/exit_code.hpp" | grep -oE '[0-9]+' | sort -un >"$T/source"
  man_text | sed -n '/^\.Sh EXIT STATUS/,/^\.Sh ENV/p' | grep -E '^\.It' | grep -oE '[0-9]+' | sort -un >"$T/man"
  [[ -s $T/source && -s $T/man ]]
  # every code of the source is documented; the page also has 128+N and the operators' codes
  run comm -23 <(sort "$T/source") <(sort "$T/man")
  assert_output ''
}

@test "every variable in the man page's ENVIRONMENT is known to the program" {
  grep -ohE 'RLOCK_[A-Z_]+|REDISCLI_AUTH' -r "$REPO/src" --include='*.cpp' --include='*.hpp' | sort -u >"$T/source"
  man_text | sed -n '/^\.Sh ENVIRONMENT/,/^\.Sh FILES/p' | grep -oE 'RLOCK_[A-Z_]+|REDISCLI_AUTH' | sort -u >"$T/man"
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
  grep -qF "$version" "$REPO/CHANGELOG.md"
  grep -qF "VERSION $version" "$REPO/CMakeLists.txt"
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
