#!/usr/bin/env bats
# Tab behind rlock, in the real shells: commands, options, files, and what is held on the server.
load ../lib/rlock

# with_rlock_in_path: the name that people type; the scripts ask the very program that was typed.
with_rlock_in_path() {
  mkdir -p "$T/bin"
  ln -sf "$RLOCK_BIN" "$T/bin/rlock"
  PATH=$T/bin:$PATH
}

# in_bash STEP...: an interactive bash whose prompt is "ready> ", without the bash-completion package.
in_bash() {
  with_rlock_in_path
  # shellcheck disable=SC2016
  printf '%s\n' "PS1='ready> '" 'set +o history' 'bind "set show-all-if-ambiguous on"' \
    'source <(rlock completion bash)' >"$T/rc"
  run in_terminal 'expect ready>' "$@" 'send \x15exit\r' -- bash --noprofile --rcfile "$T/rc" -i
  assert_success
}

in_zsh() {
  with_rlock_in_path
  mkdir -p "$T/zsh"
  rlock completion zsh >"$T/zsh/_rlock"
  printf '%s\n' "PS1='ready> '" 'unsetopt ZLE_RPROMPT_INDENT' "fpath=('$T/zsh' \$fpath)" 'autoload -Uz compinit' \
    'compinit -u -D' 'setopt AUTO_LIST' 'unsetopt LIST_AMBIGUOUS' >"$T/zsh/.zshrc"
  ZDOTDIR=$T/zsh run in_terminal 'expect ready>' "$@" 'send \x15exit\r' -- zsh -d -i
  assert_success
}

# fish_offers LINE: what fish offers behind it, a line each, "word<TAB>help".
fish_offers() {
  local line=$1
  with_rlock_in_path
  rlock completion fish >"$T/rlock.fish"
  # shellcheck disable=SC2016
  fish --no-config -c 'source $argv[1]; complete -C $argv[2]' "$T/rlock.fish" "$line"
}

@test "bash: commands, options, values, keys and files" {
  hold holder -k "lonely-$K"
  touch "$T/a-file-of-mine"
  in_bash 'send rlock insp\t' 'expect ect ' \
    'send --js\t' 'expect on ' \
    'send lone\t' "expect ly-$K" 'send \x15' \
    'send rlock list --sort=wai\t' 'expect ting ' 'send \x15' \
    "send rlock -k x --status-file $T/a-fi\\t" 'expect le-of-mine' 'send \x15' \
    'send rlock -k x -- realpa\t' 'expect th ' 'send \x15'
  let_go holder
}

@test "zsh: commands, options, values, keys and files" {
  hold holder -k "lonely-$K"
  touch "$T/a-file-of-mine"
  in_zsh 'send rlock insp\t' 'expect ect ' \
    'send --js\t' 'expect on ' \
    'send lone\t' 'expect ly-' 'send \x15' \
    'send rlock list --sort=wai\t' 'expect ting' 'send \x15' \
    "send rlock -k x --status-file $T/a-fi\\t" 'expect le-of-mine' 'send \x15' \
    'send rlock -k x -- realpa\t' 'expect th' 'send \x15'
  let_go holder
}

@test "zsh shows the help of options and commands" {
  in_zsh 'send rlock over\t' 'expect due' 'send \x15' 'send rlock re\t' 'expect extend a lock' 'send \x15'
}

@test "fish: commands, options, values, keys and files, with their help" {
  hold holder -k "lonely-$K"
  touch "$T/a-file-of-mine"
  assert_equal "$(fish_offers 'rlock insp')" $'inspect\tshow who holds a lock, until when, its fence, and who waits'
  assert_equal "$(fish_offers 'rlock inspect --js')" $'--json\tprint JSON instead of text'
  assert_equal "$(fish_offers 'rlock cancel lone')" "lonely-$K"
  assert_equal "$(fish_offers 'rlock cancel ')" "lonely-$K"
  assert_equal "$(fish_offers 'rlock list --sort=wai')" '--sort=waiting'
  assert_equal "$(fish_offers 'rlock list --sort wai')" 'waiting'
  assert_equal "$(fish_offers "rlock -k x --status-file $T/a-fi" | cut -f1)" "$T/a-file-of-mine"
  [[ $(fish_offers 'rlock -k x -- realpa') == realpath* ]]
  let_go holder
}

@test "a key with colons and blanks becomes one word of the command line" {
  hold holder -k 'tick:tock tack'
  in_bash 'send rlock inspect tick:\t' 'expect tock\\ tack ' 'send --js\t' 'expect on ' 'send \r' 'expect "state": "held"'
  in_zsh 'send rlock inspect tick:\t' 'expect tack' 'send --js\t' 'expect on' 'send \r' 'expect "state": "held"'
  assert_equal "$(fish_offers 'rlock inspect tick:')" 'tick:tock tack'
  let_go holder
}

@test "a backslash of a key is kept" {
  hold holder -k 'prod\db'
  in_bash 'send rlock inspect prod\t' 'send --js\t' 'expect on ' 'send \r' 'expect "state": "held"'
  in_zsh 'send rlock inspect prod\t' 'send --js\t' 'expect on' 'send \r' 'expect "state": "held"'
  assert_equal "$(fish_offers 'rlock inspect prod')" 'prod\db'
  let_go holder
}

@test "a word with quotes is also completed, and the quotes stay" {
  hold holder -k 'tick:tock tack'
  hold other -k "it's"
  in_bash "send rlock inspect 'tick:to\\t" "expect ck tack' " 'send --js\t' 'expect on ' 'send \r' 'expect "state": "held"' \
    'send rlock inspect "tick:tock t\t' 'expect ack" ' 'send \x15' \
    'send rlock inspect tick:tock\\ t\t' 'expect ack ' 'send \x15' \
    'send rlock inspect "it\t' "expect 's\" " 'send --js\t' 'expect on ' 'send \r' 'expect "state": "held"'
  in_zsh "send rlock inspect 'tick:to\\t" "expect ck tack" 'send \x15' \
    'send rlock inspect tick:tock\\ t\t' 'expect ack' 'send --js\t' 'expect on' 'send \r' 'expect "state": "held"'
  assert_equal "$(fish_offers "rlock inspect 'tick:to")" 'tick:tock tack'
  assert_equal "$(fish_offers 'rlock inspect tick:tock\ t')" 'tick:tock tack'
  assert_equal "$(fish_offers 'rlock inspect "it')" "it's"
  let_go holder
  let_go other
}

@test "fish: a file behind an equals sign, and an rlock in the home directory" {
  touch "$T/a-file-of-mine"
  assert_equal "$(fish_offers "rlock -k x --status-file=$T/a-fi" | cut -f1)" "--status-file=$T/a-file-of-mine"
  ln -sf "$RLOCK_BIN" "$HOME/rlock"
  # shellcheck disable=SC2088
  assert_equal "$(fish_offers '~/rlock insp' | cut -f1)" inspect
}

@test "a key that looks like an option or a pattern is offered in a form that is neither" {
  hold holder -k 'star*'
  hold other -k --yes
  attempt completion words force-release ''
  refute_line --yes
  attempt completion words force-release -- ''
  assert_line --yes
  assert_line 'star*'
  attempt completion words list st
  assert_output $':words\nstar\\*'
  attempt completion words list 'star\*'
  assert_output $':words\nstar\\*'
  let_go holder
  let_go other
}

@test "keys come from the server that the command line names" {
  local elsewhere
  hold holder -k "lonely-$K"
  elsewhere=$RLOCK_SERVER
  export RLOCK_SERVER=unix://$T/nowhere.sock
  attempt completion words cancel lone
  assert_output ':words'
  attempt completion words -S "$elsewhere" cancel lone
  assert_line "lonely-$K"
  attempt completion words cancel --server="$elsewhere" lone
  assert_line "lonely-$K"
  RLOCK_SERVER=$elsewhere
  let_go holder
}

@test "a special character of patterns is plain in a key that is typed" {
  hold holder -k "star-$K"
  attempt completion words cancel '*'
  assert_output ':words'
  attempt completion words cancel 'st[a]r'
  assert_output ':words'
  let_go holder
}

@test "without a server, or with one that is silent, there is silence, and soon" {
  local before
  export RLOCK_SERVER=unix://$T/nowhere.sock
  attempt completion words cancel ''
  assert_success
  assert_output ':words'
  assert_silent
  own_server
  kill -STOP "$(<"$SERVER/pid")"
  before=$(now_ms)
  attempt completion words cancel ''
  assert_success
  assert_output ':words'
  assert_silent
  assert_less $(($(now_ms) - before)) 1500 # it is 250 ms; the machine may be busy
  kill -CONT "$(<"$SERVER/pid")"
}

@test "broken options make no noise either" {
  attempt completion words --ttl 5x cancel -S http://x ''
  assert_success
  assert_silent
  RLOCK_QUIET=maybe attempt completion words cancel ''
  assert_success
  assert_silent
}

@test "the scripts are those that are installed, and each shell can read its own" {
  local shell
  for shell in bash zsh fish; do
    attempt completion "$shell"
    assert_success
    diff "$REPO/src/cmd/completion/rlock.$shell" <(rlock completion "$shell")
  done
  bash -n "$REPO/src/cmd/completion/rlock.bash"
  zsh -n "$REPO/src/cmd/completion/rlock.zsh"
  fish --no-execute "$REPO/src/cmd/completion/rlock.fish"
  attempt completion tcsh
  assert_equal "$status" 64
  assert_one_stderr_line 'one of bash, zsh and fish'
}

@test "rlock help completion says where the scripts go" {
  run -0 rlock help completion
  assert_line --partial 'rlock completion zsh >'
  assert_equal "$(rlock completion --help)" "$output"
}
