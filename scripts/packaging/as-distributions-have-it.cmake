# Changes the files of a package as its distributions require, before CPack closes it: compresses manual pages, and puts
# the licences and the changelog where Debian's policy, or Fedora's and SUSE's, has them.
if(NOT CPACK_GENERATOR MATCHES "^(DEB|RPM)$")
  return()
endif()
set(share "${CPACK_TEMPORARY_DIRECTORY}/usr/share")
set(readable OWNER_READ OWNER_WRITE GROUP_READ WORLD_READ)
file(GLOB to_compress "${share}/man/*/*.[1-9]")
if(CPACK_GENERATOR STREQUAL DEB)
  file(RENAME "${share}/doc/rlock/CHANGELOG.md" "${share}/doc/rlock/changelog")
  list(APPEND to_compress "${share}/doc/rlock/changelog")
  file(READ "${share}/doc/rlock/LICENSE" licence)
  file(READ "${share}/doc/rlock/THIRD-PARTY" others)
  file(WRITE "${share}/doc/rlock/copyright" "${licence}\n${others}")
  # Independent of the umask.
  file(CHMOD "${share}/doc/rlock/copyright" PERMISSIONS ${readable})
  file(REMOVE "${share}/doc/rlock/LICENSE" "${share}/doc/rlock/THIRD-PARTY")
  # Debian's zsh has a directory of its own for files from packages.
  file(RENAME "${share}/zsh/site-functions" "${share}/zsh/vendor-completions")
else()
  file(MAKE_DIRECTORY "${share}/licenses/rlock")
  foreach(name LICENSE THIRD-PARTY)
    file(RENAME "${share}/doc/rlock/${name}" "${share}/licenses/rlock/${name}")
  endforeach()
endif()
foreach(page IN LISTS to_compress)
  # -n: no time, so that the same page gives the same bytes.
  execute_process(COMMAND gzip -9n "${page}" COMMAND_ERROR_IS_FATAL ANY)
endforeach()
file(CHMOD_RECURSE "${CPACK_TEMPORARY_DIRECTORY}/usr" DIRECTORY_PERMISSIONS
     ${readable} OWNER_EXECUTE GROUP_EXECUTE WORLD_EXECUTE)
