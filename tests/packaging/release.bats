#!/usr/bin/env bats
# scripts/release, in a small repository whose other scripts only say that they ran.
load ../lib/rlock

setup_file() { export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b; }
teardown_file() { :; }
use_server() { :; }

# repository VERSION HEADING: R, committed; $T/ran tells what ran
repository() {
  local version=$1 heading=$2 each
  R=$T/r
  mkdir -p "$R/scripts"
  cp "$REPO/scripts/release" "$REPO/scripts/lib.bash" "$R/scripts/"
  for each in test package; do
    printf '#!/bin/sh\necho "%s $*" >>"%s"\n[ "%s" != "$(cat "%s" 2>/dev/null)" ]\n' \
      "$each" "$T/ran" "$each" "$T/broken" >"$R/scripts/$each"
    chmod +x "$R/scripts/$each"
  done
  printf 'set(RLOCK_VERSION %s)\n' "$version" >"$R/CMakeLists.txt"
  printf '# Changelog\n\n%s\n' "$heading" >"$R/CHANGELOG.md"
  git -C "$R" init --quiet
  commit
}

commit() {
  git -C "$R" add --all
  git -C "$R" commit --quiet --message change
}

release() {
  : >"$T/ran"
  run "$R/scripts/release" "$@"
}

# refuses TEXT [TAG]: nothing ran, and nothing else is tagged
refuses() {
  local text=$1 tags=${2:-}
  assert_equal "$status" 1
  assert_output --partial "$text"
  [[ ! -s $T/ran ]]
  assert_equal "$(git -C "$R" tag)" "$tags"
}

@test "a release tests a clone, packages, and tags the commit" {
  repository 1.2.3-rc4 "## 1.2.3-rc4 ($(date +%F))"
  release
  assert_success
  assert_equal "$(<"$T/ran")" $'test --all\npackage --reproduce\npackage --try'
  assert_equal "$(git -C "$R" tag)" v1.2.3-rc4
  assert_equal "$(git -C "$R" cat-file -t v1.2.3-rc4)" tag
  assert_output --partial 'git push origin v1.2.3-rc4'
  release
  refuses 'v1.2.3-rc4 is released already' v1.2.3-rc4
}

@test "a release whose tests or packages fail is not tagged" {
  local broken
  repository 1.2.3 "## 1.2.3 ($(date +%F))"
  for broken in test package; do
    echo "$broken" >"$T/broken"
    release
    assert_equal "$status" 1
    grep -q "^$broken" "$T/ran"
    assert_equal "$(git -C "$R" tag)" ''
  done
  assert_equal "$(grep -c ^package "$T/ran")" 1
}

@test "a release without a date, with changes that are not committed, or of no version is refused" {
  repository 1.2.3 '## 1.2.3 (unreleased)'
  release
  refuses "a release begins with '## 1.2.3 ($(date +%F))'"
  echo "## 1.2.3 ($(date +%F))" >"$R/CHANGELOG.md"
  release
  refuses 'commit first'
  commit
  echo 'set(RLOCK_VERSION 1.2)' >"$R/CMakeLists.txt"
  commit
  release
  refuses "'1.2' is no version to release"
  release --quack
  assert_equal "$status" 64
}

@test "--quick tries the way: this processor only, and no tag" {
  repository 1.2.3 "## 1.2.3 ($(date +%F))"
  release --quick
  assert_success
  assert_equal "$(<"$T/ran")" "test "$'\n'"package --reproduce $(uname -m)"$'\n'"package --try $(uname -m)"
  assert_equal "$(git -C "$R" tag)" ''
}
