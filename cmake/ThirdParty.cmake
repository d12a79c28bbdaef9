# The libraries that are linked into the program, with their licences: for the packages' notices and their
# bill of materials. The texts come from the files that the distribution ships with each library.
#
# third_party(NOTICES COMPONENTS): writes both files. COMPONENTS has a line for each library,
# "name|version|licence|home|package", which scripts/packaging/sbom reads.
#
# THIRD_PARTY_ROOT is the root of the libraries, if not the system's.

set(THIRD_PARTY_ROOT "" CACHE PATH "Where the libraries that are linked in come from: empty for the system")

# a package's version as its upstream names it: without Debian's epoch and revision
function(version_of package out)
  set(version "")
  if(THIRD_PARTY_ROOT AND EXISTS "${THIRD_PARTY_ROOT}/versions")
    string(REPLACE "+" "[+]" pattern "${package}")
    file(STRINGS "${THIRD_PARTY_ROOT}/versions" found REGEX "^${pattern} ")
    string(REGEX REPLACE "^[^ ]* " "" version "${found}")
  endif()
  if(NOT version)
    execute_process(COMMAND dpkg-query --show --showformat=\${Version} "${package}" OUTPUT_VARIABLE version ERROR_QUIET)
  endif()
  string(REGEX REPLACE "^[0-9]+:" "" version "${version}")
  string(REGEX REPLACE "-[^-]*$" "" version "${version}")
  set(${out} "${version}" PARENT_SCOPE)
endfunction()

function(third_party notices components)
  set(cross "")
  if(CMAKE_CROSSCOMPILING)
    set(cross "-arm64-cross")
  endif()
  string(REGEX MATCH "^[0-9]+" gcc "${CMAKE_CXX_COMPILER_VERSION}")
  set(hiredis_package libhiredis-dev)
  if(EXISTS "${HIREDIS_ROOT}/share/doc/hiredis/copyright")
    set(hiredis_package hiredis)  # the source package: scripts/install-hiredis
  endif()
  # name, licence, home, package, another place of its licence
  set(all
    "hiredis|BSD-3-Clause|https://github.com/redis/hiredis|${hiredis_package}|${HIREDIS_ROOT}/share/doc/hiredis/copyright"
    "fmt|MIT|https://github.com/fmtlib/fmt|libfmt-dev|"
    "CLI11|BSD-3-Clause|https://github.com/CLIUtils/CLI11|libcli11-dev|"
    "nlohmann-json|MIT|https://github.com/nlohmann/json|nlohmann-json3-dev|"
    "libstdc++ and libgcc|GPL-3.0-or-later WITH GCC-exception-3.1|https://gcc.gnu.org|libstdc++-${gcc}-dev${cross}|")
  if(ZOOKEEPER_LINKS)
    list(APPEND all "zookeeper-client|Apache-2.0|https://zookeeper.apache.org|libzookeeper-st-dev|")
  endif()
  if(static)
    list(APPEND all "glibc|LGPL-2.1-or-later|https://www.gnu.org/software/libc|libc6-dev${cross}|")
  endif()
  set(table "")
  set(text "rlock is under the MIT licence, which stands in the file LICENSE. Its programs contain code of these projects:\n\n")
  set(texts "")
  foreach(each IN LISTS all)
    string(REPLACE "|" ";" fields "${each}")
    list(GET fields 0 name)
    list(GET fields 1 licence)
    list(GET fields 2 home)
    list(GET fields 3 package)
    list(GET fields 4 copy)
    if(name STREQUAL hiredis)
      set(version "${hiredis_version}")
    else()
      version_of("${package}" version)
    endif()
    if(NOT version)
      set(version NOASSERTION)
    endif()
    string(APPEND table "${name}|${version}|${licence}|${home}|${package}\n")
    string(APPEND text "  ${name} ${version}, ${licence}, ${home}\n")
    if(NOT EXISTS "${copy}")
      set(copy "${THIRD_PARTY_ROOT}/usr/share/doc/${package}/copyright")
    endif()
    if(NOT EXISTS "${copy}")
      set(copy "/usr/share/doc/${package}/copyright")
    endif()
    if(EXISTS "${copy}")
      file(READ "${copy}" own)
      string(APPEND texts "\n==== ${name} ====\n\n${own}")
    else()
      message(WARNING "the licence of ${name} is not on this machine: packages made here lack it")
    endif()
  endforeach()
  string(APPEND text "\nOf glibc, which the LGPL lets anybody exchange: the sources of rlock and `scripts/build` link the programs anew.\n")
  file(WRITE "${notices}" "${text}${texts}")
  file(WRITE "${components}" "${table}")
endfunction()
