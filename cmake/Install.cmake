# The installed files, and packages of them.

# rlock executes nothing from a group-writable directory, which umask 002 would create.
set(CMAKE_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS
  OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
install(TARGETS rlock RUNTIME)
if(static)
  install(TARGETS rlock-with-libraries RUNTIME DESTINATION "${CMAKE_INSTALL_LIBEXECDIR}/rlock")
endif()
foreach(section 1 5 7)
  file(GLOB pages CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/man/*.${section}")
  install(FILES ${pages} DESTINATION "${CMAKE_INSTALL_MANDIR}/man${section}")
endforeach()
# A page of several commands is found under the name of each.
foreach(names inspect:list inspect:log inspect:overdue inspect:metrics cancel:force-release acquire:refresh acquire:release acquire:check)
  string(REGEX MATCH "^(.*):(.*)$" names "${names}")
  set(link "${CMAKE_BINARY_DIR}/generated/man/rlock-${CMAKE_MATCH_2}.1")
  file(CONFIGURE OUTPUT "${link}" CONTENT ".so man1/rlock-${CMAKE_MATCH_1}.1\n")
  install(FILES "${link}" DESTINATION "${CMAKE_INSTALL_MANDIR}/man1")
endforeach()
install(FILES src/cmd/completion/rlock.bash DESTINATION "${CMAKE_INSTALL_DATADIR}/bash-completion/completions" RENAME rlock)
install(FILES src/cmd/completion/rlock.zsh DESTINATION "${CMAKE_INSTALL_DATADIR}/zsh/site-functions" RENAME _rlock)
install(FILES src/cmd/completion/rlock.fish DESTINATION "${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d")
include("${CMAKE_CURRENT_LIST_DIR}/ThirdParty.cmake")
third_party("${CMAKE_BINARY_DIR}/generated/THIRD-PARTY" "${CMAKE_BINARY_DIR}/generated/components")
# A link to a file of the repository leads nowhere once installed: its text stays.
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS README.md)
file(READ README.md readme)
string(REGEX REPLACE "!\\[[^\n]*\\)\n\n" "" readme "${readme}")
string(REGEX REPLACE "\\[([^]\n]*)\\]\\([^:)]*\\)" "\\1" readme "${readme}")
string(REPLACE "man -l man/rlock.1" "man rlock" readme "${readme}")
file(WRITE "${CMAKE_BINARY_DIR}/generated/README.md" "${readme}")
install(FILES LICENSE CHANGELOG.md "${CMAKE_BINARY_DIR}/generated/README.md" "${CMAKE_BINARY_DIR}/generated/THIRD-PARTY" DESTINATION "${CMAKE_INSTALL_DOCDIR}")
include("${CMAKE_CURRENT_LIST_DIR}/Packages.cmake")
