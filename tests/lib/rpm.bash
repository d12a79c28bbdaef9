# shellcheck shell=bash
# The installation of an RPM package below a root directory that has nothing else, not even a C library.

# install_rpm ROOT FILE [OPTION...]
install_rpm() {
  local root=$1 file=$2 words
  shift 2
  words=("$@" --root "$root" --install --nodeps)
  # Debian 12's rpm refuses to install on Debian, even below another root; Debian 13's does not, and has no such option.
  ! rpm --force-debian --version >/dev/null 2>&1 || words+=(--force-debian)
  rpm "${words[@]}" "$file"
}
