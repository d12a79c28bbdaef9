# shellcheck shell=bash
# Packages of Debian that are not installed: an apt with lists and a cache of its own, for the mirrors that the system's
# apt uses, with its settings and its signature checks. Source it after lib.bash; $work is a directory of the caller's.
# shellcheck disable=SC2154

# mirrors: "[options] URI" of each archive of Debian itself. apt reads the sources, so both forms (.list
# and deb822 .sources), disabled entries and the like are its matter; it knows the origin of an archive
# only from fetched lists.
mirrors() {
  # shellcheck disable=SC2016  # apt fills these in
  apt-get "$@" indextargets 'Created-By: Packages' 'Origin: Debian' 'Component: main' \
    --format '$(RELEASE)|$(SIGNED_BY)|$(REPO_URI)' |
    awk -F '|' -v release="$(. /etc/os-release && printf '%s' "${VERSION_CODENAME:-}")" '
      $1 == release && !seen[$3]++ { print ($2 ~ /^\// ? "[signed-by=" $2 "] " : "") $3 }'
}

# candidates: the mirrors; where the system's lists were thrown away to save space, fetched for us
candidates() {
  local found
  found=$(mirrors || true)
  if [[ -z $found ]]; then
    apt-get -c "$work/apt.conf" -qq update >&2 || true
    found=$(mirrors -c "$work/apt.conf" || true)
  fi
  [[ -z $found ]] || printf '%s\n' "$found"
}

# private_apt ARGUMENT...: apt-get that knows only the archive in $work/sources.list
private_apt() {
  apt-get -c "$work/apt.conf" -o Dir::Etc::sourcelist="$work/sources.list" \
    -o Dir::Etc::sourceparts=/dev/null -qq "$@"
}

# The system's settings (proxies, verification) with directories of ours, and none of its hooks: they
# would touch its caches, or fail for a plain user.
prepare_apt() {
  mkdir -p "$work"/lists/partial "$work"/cache/archives/partial
  cat >"$work/apt.conf" <<CONF
Dir::State::lists "$work/lists";
Dir::Cache "$work/cache";
APT::Sandbox::User "root";
Acquire::Languages "none";
Acquire::Retries "1";
Acquire::http::Timeout "20";
Acquire::https::Timeout "20";
#clear APT::Update::Pre-Invoke;
#clear APT::Update::Post-Invoke;
#clear APT::Update::Post-Invoke-Success;
CONF
}
