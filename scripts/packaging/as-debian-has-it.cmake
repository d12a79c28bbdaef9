# Changes the files of a package as Debian's policy requires, before CPack closes it: compresses manual pages
# and the changelog, and puts the licences into a file `copyright`.
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
  # -n: no time, so that the same page gives the same bytes.
  execute_process(COMMAND gzip -9n "${page}" COMMAND_ERROR_IS_FATAL ANY)
endforeach()
# Debian's zsh has a directory of its own for files from packages.
file(RENAME "${share}/zsh/site-functions" "${share}/zsh/vendor-completions")
# Independent of the umask.
set(readable OWNER_READ OWNER_WRITE GROUP_READ WORLD_READ)
file(CHMOD "${share}/doc/rlock/copyright" PERMISSIONS ${readable})
file(CHMOD_RECURSE "${CPACK_TEMPORARY_DIRECTORY}/usr" DIRECTORY_PERMISSIONS
     ${readable} OWNER_EXECUTE GROUP_EXECUTE WORLD_EXECUTE)
