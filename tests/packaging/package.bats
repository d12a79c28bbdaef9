#!/usr/bin/env bats
# The packages: what `cpack` and `cmake --install` make of the build that is there. (scripts/package --try runs them
# where nothing else is, and takes minutes.)
load ../lib/rlock
load ../lib/rpm

BUILD=${RLOCK_BIN%/*}
VERSION=$(sed -n 's/^set(RLOCK_VERSION \(.*\))$/\1/p' "$REPO/CMakeLists.txt")
PACKAGED=${VERSION/-/\~} # as dpkg and rpm write it
MOST_BYTES=$((6 * 1024 * 1024))

setup_file() {
  FILE_T=$BATS_FILE_TMPDIR
  export FILE_T SOURCE_DATE_EPOCH=1700000000
  is_released || return 0
  pack "$FILE_T/made" && dpkg-deb --raw-extract "$DEB" "$FILE_T/root"
  local each
  for each in librlock0 librlock-dev; do
    dpkg-deb --raw-extract "$FILE_T/made/$each"_*.deb "$FILE_T/$each"
  done
}

teardown_file() { :; }
use_server() { :; }

# The packages contain a release of two programs (tests/packaging/static.bats).
is_released() {
  grep -qx 'CMAKE_BUILD_TYPE:STRING=Release' "$BUILD/CMakeCache.txt" &&
    [[ $(readelf --wide --program-headers "$RLOCK_BIN") != *INTERP* ]]
}

# pack DIRECTORY [CPACK-OPTION...]: DEB is the program's Debian package there
pack() {
  local to=$1
  shift
  run cpack --config "$BUILD/CPackConfig.cmake" -B "$to" "$@"
  assert_success
  DEB=$(echo "$to"/rlock_*.deb)
  export DEB
}

field() { dpkg-deb --field "$DEB" "$1"; }

# newest_symbol FILE: the C library's version that it takes
newest_symbol() { objdump -T "$1" | grep -o 'GLIBC_[0-9.]*' | cut -d _ -f 2 | sort -V | tail -n 1; }

@test "the Debian package has the programs, pages, completions and licences, root's, and nothing else" {
  is_released || return 0
  run bash -c 'dpkg-deb --contents "$DEB" | grep -v "^d" | tr -s " " | cut -d " " -f 1,2,6'
  assert_output '-rwxr-xr-x root/root ./usr/bin/rlock
-rwxr-xr-x root/root ./usr/libexec/rlock/rlock
-rw-r--r-- root/root ./usr/share/bash-completion/completions/rlock
-rw-r--r-- root/root ./usr/share/doc/rlock/README.md
-rw-r--r-- root/root ./usr/share/doc/rlock/changelog.gz
-rw-r--r-- root/root ./usr/share/doc/rlock/copyright
-rw-r--r-- root/root ./usr/share/doc/rlock/monitoring/grafana.json
-rw-r--r-- root/root ./usr/share/doc/rlock/monitoring/rules.yml
-rw-r--r-- root/root ./usr/share/fish/vendor_completions.d/rlock.fish
-rw-r--r-- root/root ./usr/share/man/man1/rlock-acquire.1.gz
-rw-r--r-- root/root ./usr/share/man/man1/rlock-cancel.1.gz
-rw-r--r-- root/root ./usr/share/man/man1/rlock-check.1.gz
-rw-r--r-- root/root ./usr/share/man/man1/rlock-doctor.1.gz
-rw-r--r-- root/root ./usr/share/man/man1/rlock-force-release.1.gz
-rw-r--r-- root/root ./usr/share/man/man1/rlock-inspect.1.gz
-rw-r--r-- root/root ./usr/share/man/man1/rlock-list.1.gz
-rw-r--r-- root/root ./usr/share/man/man1/rlock-log.1.gz
-rw-r--r-- root/root ./usr/share/man/man1/rlock-metrics.1.gz
-rw-r--r-- root/root ./usr/share/man/man1/rlock-overdue.1.gz
-rw-r--r-- root/root ./usr/share/man/man1/rlock-refresh.1.gz
-rw-r--r-- root/root ./usr/share/man/man1/rlock-release.1.gz
-rw-r--r-- root/root ./usr/share/man/man1/rlock-schema.1.gz
-rw-r--r-- root/root ./usr/share/man/man1/rlock.1.gz
-rw-r--r-- root/root ./usr/share/man/man5/rlock.conf.5.gz
-rw-r--r-- root/root ./usr/share/man/man7/rlock-formats.7.gz
-rw-r--r-- root/root ./usr/share/man/man7/rlock-interop.7.gz
-rw-r--r-- root/root ./usr/share/man/man7/rlock-limits.7.gz
-rw-r--r-- root/root ./usr/share/man/man7/rlock-protocol.7.gz
-rw-r--r-- root/root ./usr/share/man/man7/rlock-recipes.7.gz
-rw-r--r-- root/root ./usr/share/man/man7/rlock-servers.7.gz
-rw-r--r-- root/root ./usr/share/man/man7/rlock-slots.7.gz
-rw-r--r-- root/root ./usr/share/zsh/vendor-completions/_rlock'
  assert_less "$(stat -c %s "$DEB")" "$MOST_BYTES"
}

# files_of PACKAGE
files_of() { (cd "$FILE_T/$1" && find usr ! -type d -printf '%p%l\n' | LC_ALL=C sort); }

@test "the Debian packages of the library have it, its header, and what finds them, and nothing else" {
  is_released || return 0
  run files_of librlock0
  assert_output "usr/lib/librlock.so.0.${VERSION%-*}
usr/lib/librlock.so.0librlock.so.0.${VERSION%-*}
usr/share/doc/librlock0/copyright"
  run files_of librlock-dev
  assert_output 'usr/include/rlock/rlock.hpp
usr/lib/cmake/Rlock/RlockConfig.cmake
usr/lib/cmake/Rlock/RlockConfigVersion.cmake
usr/lib/cmake/Rlock/RlockTargets-release.cmake
usr/lib/cmake/Rlock/RlockTargets.cmake
usr/lib/librlock.a
usr/lib/librlock.solibrlock.so.0
usr/lib/pkgconfig/rlock.pc
usr/share/doc/librlock-dev/copyright
usr/share/man/man3/rlock.3.gz'
  assert_equal "$(dpkg-deb --field "$FILE_T"/made/librlock-dev_*.deb Depends)" "librlock0 (= $PACKAGED)"
  assert_equal "$(dpkg-deb --info "$FILE_T"/made/librlock0_*.deb triggers)" 'activate-noawait ldconfig'
  assert_equal "$(dpkg-deb --info "$FILE_T"/made/librlock0_*.deb shlibs)" "librlock 0 librlock0 (>= $PACKAGED)"
}

@test "every page of man is in one of them" {
  is_released || return 0
  local page root
  for page in "$REPO"/man/*.[1-9]; do
    root=$FILE_T/root
    [[ $page != *.3 ]] || root=$FILE_T/librlock-dev
    diff "$page" <(gzip -dc "$root/usr/share/man/man${page##*.}/${page##*/}.gz")
  done
}

@test "a page that has another name leads to a page of the package" {
  is_released || return 0
  local page target
  for page in check force-release list log metrics overdue refresh release; do
    target=$(gzip -dc "$FILE_T/root/usr/share/man/man1/rlock-$page.1.gz" | sed -n 's/^\.so //p')
    gzip -dc "$FILE_T/root/usr/share/man/$target.gz" | grep -qE "^\.Nm rlock-$page( ,)?$" || fail "$page: $target"
  done
}

@test "every link of the installed README leads somewhere" {
  is_released || return 0
  local readme=$FILE_T/root/usr/share/doc/rlock/README.md
  grep -q '^## What it promises' "$readme"
  grep -qF 'rlock-limits(7)' "$readme"
  run grep -E '\]\((\.|[^h#])' "$readme"
  assert_output ''
}

@test "the fields of the Debian package" {
  is_released || return 0
  assert_equal "${DEB##*/}" "rlock_${PACKAGED}_$(dpkg --print-architecture).deb"
  assert_equal "$(field Package)" rlock
  assert_equal "$(field Version)" "$PACKAGED"
  assert_equal "$(field Architecture)" "$(dpkg --print-architecture)"
  assert_equal "$(field Section)" utils
  assert_equal "$(field Recommends)" 'libssl3 | libssl3t64, ca-certificates'
  [[ $(field Description) == 'runs a command under a lock'* ]]
}

@test "it depends on libc alone, of a version that has every symbol that the programs take" {
  is_released || return 0
  local wanted needed
  wanted=$(field Depends)
  [[ $wanted =~ ^'libc6 (>= '(2\.[0-9]+)')'$ ]]
  wanted=${BASH_REMATCH[1]}
  needed=$(newest_symbol "$FILE_T/root/usr/libexec/rlock/rlock")
  dpkg --compare-versions "$needed" le "$wanted" || fail "it wants $wanted, and takes symbols of $needed"
  # Ubuntu 22.04, from Debian 12.
  [[ $(ldd --version) != *' 2.36'* ]] || assert_equal "$wanted" 2.35
  run readelf --wide --dynamic "$FILE_T/root/usr/libexec/rlock/rlock"
  refute_output --regexp 'NEEDED.*\[(libstdc|libgcc|libfmt|libhiredis|libzookeeper|libssl)'
}

@test "the programs in it are stripped, run, and are a pair" {
  is_released || return 0
  local program
  for program in bin/rlock libexec/rlock/rlock; do
    run readelf --wide --sections "$FILE_T/root/usr/$program"
    refute_output --partial .symtab
    run "$FILE_T/root/usr/$program" --version
    assert_output "$("$RLOCK_BIN" --version)"
  done
  run "$FILE_T/root/usr/bin/rlock" inspect -S rediss://127.0.0.1:1 k # 78 if the other one were not found
  assert_equal "$status" 69
}

# licence NAME: of a library, in the notices
licence() { sed -n "/^==== $1 ====$/,/^==== /p" "$FILE_T/root/usr/share/doc/rlock/copyright" | sed '1d;/^==== /d'; }

@test "the notices have rlock's licence, and that of each library that the build looks for" {
  is_released || return 0
  local library name libraries=('libstdc++ and libgcc' glibc)
  grep -qF "$(sed -n 3p "$REPO/LICENSE")" "$FILE_T/root/usr/share/doc/rlock/copyright"
  while read -r library; do
    case $library in
      Threads | OpenSSL) ;; # the C library's; loaded by who wants it
      doctest | Lua51 | LUA_ARCHIVE) ;; # of the tests
      HIREDIS_LIBRARY) libraries+=(hiredis) ;;
      ZOOKEEPER_LIBRARY)
        ! grep -q '^ZOOKEEPER_LINKS:.*=1' "$BUILD/CMakeCache.txt" || libraries+=(zookeeper-client)
        ;;
      *) libraries+=("${library//_/-}") ;;
    esac
  done < <(sed -nE 's/^ *find_(package|library)\(([A-Za-z_0-9]+).*/\2/p' "$REPO"/cmake/Dependencies.cmake "$REPO/tests/CMakeLists.txt")
  for name in "${libraries[@]}"; do
    [[ $(licence "$name" | wc -w) -gt 50 ]] || fail "no licence of $name"
    grep -q "^  $name [0-9][0-9.]*.*, https://" "$FILE_T/root/usr/share/doc/rlock/copyright" || fail "no line of $name"
  done
  licence "${libraries[0]}" | grep -q 'Runtime Library Exception'
}

@test "the bill of materials names the same libraries, and the programs by their checksums" {
  is_released || return 0
  cmake --install "$BUILD" --component program --strip --prefix "$T/installed" >"$T/log" 2>&1 || fail "$(<"$T/log")"
  "$REPO/scripts/packaging/sbom" "$VERSION" x86_64 "$BUILD/generated/components" "$T/installed" >"$T/bill"
  assert_equal "$(jq -r .spdxVersion "$T/bill")" SPDX-2.3
  "$REPO/scripts/packaging/sbom" "$VERSION" x86_64 "$BUILD/generated/components" "$T/installed" openssl=3.0.1 \
    ca-certificates=2023 >"$T/bill-of-image"
  assert_equal "$(jq -c '[.packages[] | select(.comment) | [.name, .versionInfo]]' "$T/bill-of-image")" \
    '[["openssl","3.0.1"],["ca-certificates","2023"]]'
  assert_equal "$(jq -r .creationInfo.created "$T/bill")" 2023-11-14T22:13:20Z
  jq -r '.relationships[] | select(.relationshipType == "STATIC_LINK").relatedSpdxElement' "$T/bill" | sort >"$T/linked"
  sed -n 's/^==== \(.*\) ====$/SPDXRef-\1/p' "$T/installed/share/doc/rlock/THIRD-PARTY" | tr '+ ' - | sort >"$T/noticed"
  diff "$T/linked" "$T/noticed"
  assert_less 4 "$(wc -l <"$T/linked")"
  jq -r '.files[] | (.checksums[] | select(.algorithm == "SHA256").checksumValue) + "  " + .fileName' "$T/bill" >"$T/sums"
  assert_equal "$(wc -l <"$T/sums")" 2
  cd "$T/installed"
  sha256sum --check --quiet "$T/sums"
}

# members: what is in the Debian package, as bytes, but for the rights that ar notes of it
members() { ar p "$DEB" data.tar.xz control.tar.gz | sha256sum; }

@test "two Debian packages of one build are the same, whatever the hour and the umask are" {
  is_released || return 0
  local first
  first=$(members)
  umask 077
  TZ=Asia/Tokyo pack "$T/again" -G DEB
  assert_equal "$(members)" "$first"
  # A page's own time would be that of the checkout.
  assert_equal "$(od -An -tu4 -j4 -N4 "$FILE_T/root/usr/share/man/man1/rlock.1.gz" | tr -d ' ')" 0
}

# pack_rpm: RPM is the package for Fedora, RHEL and SUSE of this build, made once
pack_rpm() {
  [[ $(type -P rpmbuild) ]] || skip 'no rpmbuild here: apt install rpm'
  local DEB
  RPM=$FILE_T/rpm/rlock-$PACKAGED-1.$(uname -m).rpm
  [[ -e $RPM ]] || pack "$FILE_T/rpm" -G RPM
}

@test "the RPM package has the programs, pages, completions and licences where Fedora and SUSE have them, root's" {
  is_released || return 0
  pack_rpm
  rpm --query --package --queryformat '[%{FILEMODES:perms} %{FILEUSERNAME}/%{FILEGROUPNAME} %{FILENAMES}\n]' "$RPM" >"$T/all"
  # the same files as in the Debian package, elsewhere
  dpkg-deb --contents "$DEB" | grep -v ^d | tr -s ' ' | cut -d ' ' -f 1,2,6 |
    sed 's| \./usr| /usr|; s|doc/rlock/changelog\.gz|doc/rlock/CHANGELOG.md|; s|zsh/vendor-completions|zsh/site-functions|
      s|\(.*\)doc/rlock/copyright|\1licenses/rlock/LICENSE\n\1licenses/rlock/THIRD-PARTY|' | sort >"$T/expected"
  diff "$T/expected" <(grep -v ^d "$T/all" | sort)
  # directories of its own, and those that Fedora's packages share; not those of the package filesystem
  run bash -c 'sed -n "s/^drwxr-xr-x root.root //p" "$1" | sort | paste -sd " "' _ "$T/all"
  assert_output "$(printf '/usr/share/%s\n' bash-completion bash-completion/completions doc/rlock doc/rlock/monitoring fish \
    fish/vendor_completions.d licenses/rlock zsh zsh/site-functions | sed '1i /usr/libexec/rlock' | paste -sd ' ')"
  assert_equal "$(grep -c ^d "$T/all")" 10
  run rpm --query --package --licensefiles "$RPM"
  assert_output '/usr/share/licenses/rlock/LICENSE
/usr/share/licenses/rlock/THIRD-PARTY'
  assert_less "$(stat -c %s "$RPM")" "$MOST_BYTES"
}

@test "the RPM package needs the C library alone, recommends the libraries of TLS and PostgreSQL, and runs no script" {
  is_released || return 0
  pack_rpm
  local wanted
  run bash -c 'rpm --query --package --requires "$1" | grep -vE "^(lib(c|m)\.so\.6|ld-linux-[a-z0-9-]+\.so\.[12]|rtld|rpmlib)\("' _ "$RPM"
  assert_output ''
  wanted=$(rpm --query --package --requires "$RPM" | sed -n 's/^libc\.so\.6(GLIBC_\(2\.[0-9]*\).*/\1/p' | sort -V | tail -n 1)
  assert_equal "$wanted" "$(newest_symbol "$FILE_T/root/usr/libexec/rlock/rlock")"
  run rpm --query --package --recommends "$RPM"
  assert_output 'ca-certificates
libpq.so.5()(64bit)
libssl.so.3()(64bit)'
  run rpm --query --package --scripts --triggers "$RPM"
  assert_output ''
  run rpm --query --package --queryformat '%{NAME} %{VERSION}-%{RELEASE} %{ARCH} %{LICENSE} %{BUILDHOST} %{PREFIXES}' "$RPM"
  assert_output "rlock $PACKAGED-1 $(uname -m) MIT localhost (none)"
  run rpm --query --package --queryformat '%{SUMMARY}\n%{DESCRIPTION}' "$RPM"
  assert_output --regexp '^runs a command under a lock.*flock\(1\) for a fleet'
}

@test "rpm installs it in an empty root, verifies and removes it; the programs there are those of the build" {
  is_released || return 0
  ((EUID == 0)) || skip 'rpm --root takes root, for chroot(2)'
  pack_rpm
  local root=$T/root program
  rpm --root "$root" --initdb
  install_rpm "$root" "$RPM"
  assert_equal "$(rpm --root "$root" --query rlock)" "rlock-$PACKAGED-1.$(uname -m)"
  rpm --root "$root" --verify --nodeps rlock
  for program in bin/rlock libexec/rlock/rlock; do
    cmp "$root/usr/$program" "$FILE_T/root/usr/$program"
  done
  run "$root/usr/bin/rlock" -S "file://$T/locks" -k first -- echo held
  assert_output held
  run "$root/usr/bin/rlock" inspect -S rediss://127.0.0.1:1 k # 78 if the other one were not found
  assert_equal "$status" 69
  rpm --root "$root" --erase rlock
  run find "$root/usr" ! -type d
  assert_output ''
}

@test "the RPM packages of the library: its linker's directory, what they need, and what they say of where they are" {
  is_released || return 0
  pack_rpm
  local of_library devel root=$T/root
  of_library=${RPM%/*}/librlock0-$PACKAGED-1.$(uname -m).rpm
  devel=${RPM%/*}/librlock-devel-$PACKAGED-1.$(uname -m).rpm
  run rpm --query --package --list "$of_library"
  assert_output "/usr/lib64/librlock.so.0
/usr/lib64/librlock.so.0.${VERSION%-*}"
  run rpm --query --package --list "$devel"
  assert_output '/usr/include/rlock
/usr/include/rlock/rlock.hpp
/usr/lib64/cmake/Rlock
/usr/lib64/cmake/Rlock/RlockConfig.cmake
/usr/lib64/cmake/Rlock/RlockConfigVersion.cmake
/usr/lib64/cmake/Rlock/RlockTargets-release.cmake
/usr/lib64/cmake/Rlock/RlockTargets.cmake
/usr/lib64/librlock.a
/usr/lib64/librlock.so
/usr/lib64/pkgconfig/rlock.pc
/usr/share/man/man3/rlock.3.gz'
  run rpm --query --package --requires "$devel"
  assert_line "librlock0 = $PACKAGED"
  run rpm --query --package --requires "$of_library"
  assert_line 'libstdc++.so.6()(64bit)'
  ((EUID == 0)) || skip 'rpm --root takes root, for chroot(2)'
  rpm --root "$root" --initdb
  install_rpm "$root" "$of_library"
  install_rpm "$root" "$devel"
  run env PKG_CONFIG_PATH="$root/usr/lib64/pkgconfig" PKG_CONFIG_SYSROOT_DIR="$root" pkg-config --libs --cflags rlock
  assert_output --partial "-L$root/usr/lib64"
  cmake -S "$REPO/tests/library/project" -B "$T/project" -DRlock_DIR="$root/usr/lib64/cmake/Rlock" >"$T/cmake.out" 2>&1 &&
    cmake --build "$T/project" >>"$T/cmake.out" 2>&1 || fail "$(<"$T/cmake.out")"
  run ldd "$T/project/shared"
  assert_line --partial "$root/usr/lib64/librlock.so.0 "
}

@test "two RPM packages of one build are the same, whatever the hour and the umask are" {
  is_released || return 0
  pack_rpm
  local first
  first=$(sha256sum <"$RPM")
  umask 077
  TZ=Asia/Tokyo pack "$T/again" -G RPM
  assert_equal "$(sha256sum <"$T/again/${RPM##*/}")" "$first"
}

@test "cpack alone also makes a tarball, which keeps the licences and pages as they are" {
  is_released || return 0
  run tar -tf "$FILE_T/made/rlock-$VERSION-linux-$(uname -m).tar.xz"
  assert_line --regexp '/share/doc/rlock/LICENSE$'
  assert_line --regexp '/share/doc/rlock/THIRD-PARTY$'
  assert_line --regexp '/share/man/man1/rlock\.1$'
}

@test "the READMEs name the packages as scripts/package does, in this version" {
  local page name
  sed -nE 's/^#   (rlock[^ ]*) .*/\1/p' "$REPO/scripts/package" |
    sed -E "/\.(deb|rpm)$/s/VERSION/$PACKAGED/; s/VERSION/$VERSION/" | sort >"$T/made"
  assert_equal "$(wc -l <"$T/made")" 5
  for page in README.md README.zh-CN.md; do
    grep -oE 'rlock[-_][0-9][A-Za-z0-9._~-]*' "$REPO/$page" | sort -u | diff "$T/made" - || fail "$page"
  done
}

@test "scripts/package says for which processors there are packages" {
  run "$REPO/scripts/package" sparc64
  assert_equal "$status" 1
  assert_output --partial 'only for x86_64 and aarch64'
  run "$REPO/scripts/package" --frobnicate
  assert_equal "$status" 64
  assert_output --partial 'usage: scripts/package'
}
