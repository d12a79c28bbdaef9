#compdef rlock
# Every answer comes from rlock itself: `rlock completion words WORD...`.

_rlock() {
  local kind line value
  local -a lines described

  lines=("${(@f)$("${(Q)words[1]}" completion words "${(@Q)words[2,CURRENT-1]}" "${(Q)PREFIX}" 2>/dev/null)}")
  kind=${lines[1]}
  shift lines
  [[ $PREFIX != --*=* ]] || compset -P 1 '*='
  case $kind in
    :files)
      _files
      ;;
    :command*)
      integer before=$((${kind#:command } + 1))
      words=("${(@)words[before+1,-1]}")
      ((CURRENT -= before))
      if ((CURRENT == 1)); then
        _command_names -e
      else
        _normal
      fi
      ;;
    :words)
      for line in "${lines[@]}"; do
        value=${line%%$'\t'*}
        [[ -n $value ]] || continue
        value=${value//\\/\\\\}  # _describe takes a backslash away, and ends the word at a colon
        value=${value//:/\\:}
        [[ $line != *$'\t'* ]] || value+=":${line#*$'\t'}"
        described+=("$value")
      done
      ((${#described})) && _describe -V rlock described
      ;;
  esac
}

if [[ ${zsh_eval_context[-1]} == loadautofunc ]]; then
  _rlock "$@"
else
  compdef _rlock rlock
fi
