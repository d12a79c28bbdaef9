# bash completion for rlock                                  -*- shell-script -*-
# Every answer comes from rlock itself: `rlock completion words WORD...`.

_rlock() {
  local i kind line rest trimmed word breaks='' cur
  local -a words=() starts=() lines=()

  # bash cuts words at ':' and '=' too; rlock wants them as they were typed, up to the cursor.
  rest=${COMP_LINE:0:COMP_POINT}
  for ((i = 0; i <= COMP_CWORD; i++)); do
    word=${COMP_WORDS[i]}
    trimmed=${rest#"${rest%%[![:space:]]*}"}
    ((i < COMP_CWORD)) || word=$trimmed
    if ((i == 0)) || [[ $trimmed != "$rest" ]]; then
      words+=("$word")
      starts+=("$i")
    else
      words[${#words[@]} - 1]+=$word
    fi
    rest=${trimmed#"$word"}
  done
  cur=${words[${#words[@]} - 1]}

  mapfile -t lines < <("${words[0]}" completion words "${words[@]:1}" 2>/dev/null)
  kind=${lines[0]-}
  # The value alone is what bash completes behind '='.
  [[ $cur != --*=* ]] || cur=${cur#*=}
  case $kind in
    :files)
      compopt -o filenames 2>/dev/null
      mapfile -t COMPREPLY < <(compgen -f -- "$cur")
      ;;
    :command*)
      i=$((${kind#:command } + 1))
      if declare -F _comp_command_offset >/dev/null; then
        _comp_command_offset "${starts[i]}"
      elif declare -F _command_offset >/dev/null; then
        _command_offset "${starts[i]}"
      elif ((i == ${#words[@]} - 1)); then
        mapfile -t COMPREPLY < <(compgen -c -- "$cur")
      else
        compopt -o filenames 2>/dev/null
        mapfile -t COMPREPLY < <(compgen -f -- "$cur")
      fi
      ;;
    :words)
      [[ $COMP_WORDBREAKS != *:* ]] || breaks+=:
      [[ $COMP_WORDBREAKS != *=* ]] || breaks+='='
      # What stands before the last of them is on the line already.
      rest=''
      [[ -z $breaks || $cur != *["$breaks"]* ]] || rest=${cur%"${cur##*["$breaks"]}"}
      for line in "${lines[@]:1}"; do
        word=${line%%$'\t'*}
        word=${word#"$rest"}
        # A blank follows an option and a key, but not what is only the beginning of a URL.
        [[ $word != *: && $word != */ ]] || compopt -o nospace 2>/dev/null
        printf -v word '%q' "$word"
        COMPREPLY+=("${word//\\@/@}")
      done
      ;;
  esac
}

complete -F _rlock rlock
