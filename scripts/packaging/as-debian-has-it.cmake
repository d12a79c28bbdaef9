# What Debian's policy wants of the files of a package, before CPack closes it: pages of the manual and the
# changelog compressed, and the licences in a file `copyright`.
if(NOT CPACK_GENERATOR STREQUAL DEB)
  return()
endif()
set(share "${CPACK_TEMPORARY_DIRECTORY}/usr/share")
file(RENAME "${share}/doc/rlock/CHANGELOG.md" "${share}/doc/rlock/changelog")
file(READ "${share}/doc/rlock/LICENSE" licence)
file(READ "${share}/doc/rlock/THIRD-PARTY" others)
file(WRITE "${share}/doc/rlock/copyright" "${licence}\n${others}")
file(REMOVE "${share}/doc/rlock/LICENSE" "${share}/doc/rlock/THIRD-PARTY")
file(GLOB pages "${share}/man/*/*.[1-9]" "${share}/doc/rlock/changelog")
foreach(page IN LISTS pages)
  # -n: without the time, so that the same page is the same bytes.
  execute_process(COMMAND gzip -9n "${page}" COMMAND_ERROR_IS_FATAL ANY)
endforeach()
# Debian's zsh looks for what packages bring in a directory of its own.
file(RENAME "${share}/zsh/site-functions" "${share}/zsh/vendor-completions")
# Whatever the umask is.
set(readable OWNER_READ OWNER_WRITE GROUP_READ WORLD_READ)
file(CHMOD "${share}/doc/rlock/copyright" PERMISSIONS ${readable})
file(CHMOD_RECURSE "${CPACK_TEMPORARY_DIRECTORY}/usr" DIRECTORY_PERMISSIONS
     ${readable} OWNER_EXECUTE GROUP_EXECUTE WORLD_EXECUTE)
