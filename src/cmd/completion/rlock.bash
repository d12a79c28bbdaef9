# bash completion for rlock                                  -*- shell-script -*-
# Every answer comes from rlock itself: `rlock completion words WORD...`.

# _rlock_plain WORD: set plain to WORD without its quotes, and quote to the one that is open at its end.
_rlock_plain() {
  local left=$1 next
  plain='' quote=''
  while [[ -n $left ]]; do
    next=${left:0:1}
    left=${left:1}
    case $quote$next in
      \'\' | '""') quote='' ;;
      \' | '"') quote=$next ;;
      \\ | '"'\\)
        if [[ -n $quote && ${left:0:1} != [\"\\\$\`] ]]; then plain+=$next; fi
        plain+=${left:0:1}
        left=${left:1}
        ;;
      *) plain+=$next ;;
    esac
  done
}

_rlock() {
  local i kind line rest trimmed word breaks=$'\n' cur plain quote open
  local -a words=() typed=() starts=() lines=()

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

  for word in "${words[@]}"; do
    _rlock_plain "$word"
    typed+=("$plain")
  done
  [[ ${typed[0]} != \~/* ]] || typed[0]=$HOME/${typed[0]:2}
  mapfile -t lines < <("${typed[0]}" completion words "${typed[@]:1}" 2>/dev/null)
  kind=${lines[0]-}
  # The value alone is what bash completes behind '='.
  [[ $cur != --*=* ]] || cur=${cur#*=}
  _rlock_plain "$cur"
  open=$quote
  case $kind in
    :files)
      compopt -o filenames 2>/dev/null
      mapfile -t COMPREPLY < <(compgen -f -- "$plain")
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
      # bash puts what is offered behind an open quote, or behind the last of these that is not escaped.
      if [[ -n $open ]]; then
        rest=${cur%"$open"*}
      else
        rest=${cur//\\?/__}
        rest=${rest##*["$breaks"]}
        rest=${cur:0:${#cur}-${#rest}}
      fi
      _rlock_plain "$rest"
      for line in "${lines[@]:1}"; do
        word=${line%%$'\t'*}
        word=${word#"$plain"}
        # A blank follows an option and a key, but not what is only the beginning of a URL.
        [[ $word != *: && $word != */ ]] || compopt -o nospace 2>/dev/null
        if [[ $open == \' ]]; then
          word=${word//\'/\'\\\'\'}
        elif [[ $open == '"' ]]; then
          word=${word//\\/\\\\}
          word=${word//\"/\\\"}
          word=${word//\$/\\\$}
          word=${word//\`/\\\`}
        else
          printf -v word '%q' "$word"
          word=${word//\\@/@}
        fi
        COMPREPLY+=("$word")
      done
      ;;
  esac
}

complete -F _rlock rlock
