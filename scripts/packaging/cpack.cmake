# `cpack`: a Debian package (-G DEB) and a tarball (-G TXZ) of what `cmake --install` installs.
# scripts/package makes the ones that are published, of a build of its own for each processor.

set(CPACK_GENERATOR DEB TXZ)
set(CPACK_PACKAGE_NAME rlock)
set(CPACK_PACKAGE_VENDOR rlock)
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "runs a command under a lock that every machine respects")
set(CPACK_PACKAGE_DESCRIPTION
    "rlock is flock(1) for a fleet: it runs a command while it holds a lock on Redis, ZooKeeper or in a directory, keeps \
the lock alive meanwhile, stops the command before the lock could pass to another machine, and exits as the command did.")
set(CPACK_RESOURCE_FILE_LICENSE "${CMAKE_SOURCE_DIR}/LICENSE")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_VERBATIM_VARIABLES ON)
# uname -m's name of the processor, as people look for it
set(CPACK_PACKAGE_FILE_NAME "rlock-${PROJECT_VERSION}-linux-${CMAKE_SYSTEM_PROCESSOR}")

# Of the two programs only the one for TLS and for the plugins of /etc/nsswitch.conf takes a library, libc. Its
# symbols are those of 2.35 (tests/package.bats looks): Ubuntu 22.04, Debian 12 and what is newer have them.
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_DEPENDS "libc6 (>= 2.35)")
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS "libssl3 | libssl3t64, ca-certificates")
set(CPACK_DEBIAN_PACKAGE_MAINTAINER "rlock maintainers <maintainers@rlock.invalid>")
set(CPACK_DEBIAN_PACKAGE_SECTION utils)
set(CPACK_DEBIAN_PACKAGE_PRIORITY optional)
set(CPACK_DEBIAN_COMPRESSION_TYPE xz)
if(CMAKE_CROSSCOMPILING AND CMAKE_SYSTEM_PROCESSOR STREQUAL aarch64)
  set(CPACK_DEBIAN_PACKAGE_ARCHITECTURE arm64)
endif()
set(CPACK_PRE_BUILD_SCRIPTS "${CMAKE_SOURCE_DIR}/scripts/packaging/as-debian-has-it.cmake")
include(CPack)
