# shellcheck shell=bash
# Users of a server with few rights.

# least_line: the ACL of rlock-protocol(7), as it stands there.
least_line() {
  sed -n '/^ACL SETUSER /,/^\.Ed/p' "$REPO/man/rlock-protocol.7" | grep -v '^\.Ed' | tr -s ' \n' ' '
}

# least_user [WITHOUT-WORD] [MORE-WORDS]: makes the user "rlock" of that line, with the password "password".
least_user() {
  local without=${1:-} more=${2:-} word
  local -a words=()
  for word in $(least_line) $more; do
    [[ $word == "$without" ]] || words+=("$word")
  done
  redis acl deluser rlock >/dev/null
  redis "${words[@]}" >/dev/null
  LEAST_URL="unix://rlock:password@$SERVER/redis.sock"
}
