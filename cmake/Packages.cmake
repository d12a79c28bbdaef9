# `cpack`: Debian packages (-G DEB) and tarballs (-G TXZ) of the files that `cmake --install` installs: of the program, of
# the library, and of what a program takes to be built with it; with rpmbuild also packages for Fedora, RHEL and SUSE (-G
# RPM). scripts/package makes the published ones, from a separate build for each processor.

set(CPACK_GENERATOR DEB TXZ)
set(CPACK_PACKAGE_NAME rlock)
string(REPLACE "-" "~" CPACK_PACKAGE_VERSION "${RLOCK_VERSION}")
set(CPACK_PACKAGE_VENDOR rlock)
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "runs a command under a lock that every machine respects")
set(CPACK_PACKAGE_DESCRIPTION "rlock is flock(1) for a fleet: it runs a command while it holds a lock on Redis,
PostgreSQL, ZooKeeper or in a directory, keeps the lock alive meanwhile, stops the command
before the lock could pass to another machine, and exits as the command did.")
set(CPACK_COMPONENTS_ALL program library development)
set(CPACK_COMPONENTS_GROUPING IGNORE)
set(CPACK_ARCHIVE_COMPONENT_INSTALL ON)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_RPM_COMPONENT_INSTALL ON)
set(CPACK_RPM_MAIN_COMPONENT program)
set(of_library "the lock of rlock for C++ programs")
foreach(kind IN ITEMS DEBIAN RPM)
  set(CPACK_${kind}_PROGRAM_PACKAGE_NAME rlock)
  set(CPACK_${kind}_LIBRARY_PACKAGE_NAME librlock0)
endforeach()
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_NAME librlock-dev)
set(CPACK_RPM_DEVELOPMENT_PACKAGE_NAME librlock-devel)
set(CPACK_COMPONENT_PROGRAM_DESCRIPTION "${CPACK_PACKAGE_DESCRIPTION}")
set(CPACK_COMPONENT_LIBRARY_DESCRIPTION "${of_library}\nThe shared library. A program that takes a lock by it and a command under rlock(1) exclude each other.")
set(CPACK_COMPONENT_DEVELOPMENT_DESCRIPTION "${of_library}: header\nThe header rlock/rlock.hpp, the static library, rlock(3), and the files for CMake and pkg-config.")
set(CPACK_RESOURCE_FILE_LICENSE "${CMAKE_SOURCE_DIR}/LICENSE")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_VERBATIM_VARIABLES ON)
# the processor's name as in uname -m, which people look for
set(of_tarball "${RLOCK_VERSION}-linux-${CMAKE_SYSTEM_PROCESSOR}")
set(CPACK_PACKAGE_FILE_NAME "rlock-${of_tarball}")
set(CPACK_ARCHIVE_PROGRAM_FILE_NAME "rlock-${of_tarball}")
set(CPACK_ARCHIVE_LIBRARY_FILE_NAME "librlock0-${of_tarball}")
set(CPACK_ARCHIVE_DEVELOPMENT_FILE_NAME "librlock-dev-${of_tarball}")

# Of the two programs only the one that loads libraries (OpenSSL, libpq, the plugins of /etc/nsswitch.conf) is
# linked with one, libc. It needs the version that it was compiled with, but no symbol newer than 2.35 if that
# was Debian 12's (tests/package.bats checks it).
execute_process(COMMAND "${CMAKE_C_COMPILER}" -include features.h -E -dM -x c /dev/null OUTPUT_VARIABLE macros)
string(REGEX REPLACE ".*#define __GLIBC_MINOR__ ([0-9]+).*" "2.\\1" libc "${macros}")
if(libc VERSION_EQUAL 2.36)
  set(libc 2.35)
endif()
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PROGRAM_PACKAGE_DEPENDS "libc6 (>= ${libc})")
string(REGEX MATCH "^[0-9]+" gcc "${CMAKE_CXX_COMPILER_VERSION}")
set(CPACK_DEBIAN_LIBRARY_PACKAGE_DEPENDS "libc6 (>= ${libc}), libstdc++6 (>= ${gcc})")
# The linker's cache learns of the library, and packages of programs that use it of this one.
set(control "${CMAKE_BINARY_DIR}/generated/librlock0")
file(CONFIGURE OUTPUT "${control}/triggers" CONTENT "activate-noawait ldconfig\n")
file(CONFIGURE OUTPUT "${control}/shlibs" CONTENT "librlock 0 librlock0 (>= ${CPACK_PACKAGE_VERSION})\n")
set(CPACK_DEBIAN_LIBRARY_PACKAGE_CONTROL_EXTRA "${control}/triggers;${control}/shlibs")
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS "librlock0 (= ${CPACK_PACKAGE_VERSION})")
foreach(component IN ITEMS PROGRAM LIBRARY)
  set(CPACK_DEBIAN_${component}_PACKAGE_RECOMMENDS "libssl3 | libssl3t64, ca-certificates")
  set(CPACK_DEBIAN_${component}_PACKAGE_SUGGESTS "libpq5")
endforeach()
set(CPACK_DEBIAN_LIBRARY_PACKAGE_SECTION libs)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_PACKAGE_MAINTAINER "rlock maintainers <maintainers@rlock.invalid>")
set(CPACK_DEBIAN_PACKAGE_SECTION utils)
set(CPACK_DEBIAN_PACKAGE_PRIORITY optional)
set(CPACK_DEBIAN_COMPRESSION_TYPE xz)
if(CMAKE_CROSSCOMPILING AND CMAKE_SYSTEM_PROCESSOR STREQUAL aarch64)
  set(CPACK_DEBIAN_PACKAGE_ARCHITECTURE arm64)
endif()
# rpmbuild finds by itself which symbols of the C library the programs take. The distributions name the libraries'
# packages differently, so the libraries stand here by their sonames.
set(CPACK_RPM_FILE_NAME RPM-DEFAULT)
set(CPACK_RPM_PACKAGE_DESCRIPTION "${CPACK_PACKAGE_DESCRIPTION}")
set(CPACK_PACKAGE_RELOCATABLE OFF)
set(CPACK_RPM_PACKAGE_LICENSE MIT)
set(CPACK_RPM_PACKAGE_GROUP Applications/System)
set(CPACK_RPM_PACKAGE_ARCHITECTURE "${CMAKE_SYSTEM_PROCESSOR}")
set(CPACK_RPM_COMPRESSION_TYPE xz)
set(CPACK_RPM_DEVELOPMENT_PACKAGE_REQUIRES "librlock0 = ${CPACK_PACKAGE_VERSION}")
set(CPACK_RPM_PROGRAM_USER_FILELIST "%license /usr/share/licenses/rlock/LICENSE" "%license /usr/share/licenses/rlock/THIRD-PARTY")
# directories of other packages
set(CPACK_RPM_EXCLUDE_FROM_AUTO_FILELIST_ADDITION /usr/libexec /usr/share/licenses /usr/share/man /usr/share/man/man1
  /usr/share/man/man3 /usr/share/man/man5 /usr/share/man/man7 /usr/include /usr/lib64 /usr/lib64/cmake
  /usr/lib64/pkgconfig)
# The same bytes on every host, at any time; no links to debugging symbols, which are not shipped. rpmbuild would strip a
# foreign program with this host's tools.
set(CPACK_RPM_SPEC_MORE_DEFINE "Recommends: libssl.so.3()(64bit)
Recommends: ca-certificates
Recommends: libpq.so.5()(64bit)
%define _build_id_links none
%define _buildhost localhost
%define use_source_date_epoch_as_buildtime 1
%define clamp_mtime_to_source_date_epoch 1
%define __os_install_post %{nil}")
set(CPACK_PRE_BUILD_SCRIPTS "${CMAKE_SOURCE_DIR}/scripts/packaging/as-distributions-have-it.cmake")
include(CPack)
