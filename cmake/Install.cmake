# What is installed, and packages of it.

# rlock executes nothing from a directory that a group may write to, which umask 002 would make of one.
set(CMAKE_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS
  OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
install(TARGETS rlock RUNTIME)
if(static)
  install(TARGETS rlock-with-libraries RUNTIME DESTINATION "${CMAKE_INSTALL_LIBEXECDIR}/rlock")
endif()
install(FILES man/rlock.1 DESTINATION "${CMAKE_INSTALL_MANDIR}/man1")
install(FILES man/rlock-interop.7 man/rlock-protocol.7 man/rlock-recipes.7 DESTINATION "${CMAKE_INSTALL_MANDIR}/man7")
install(FILES src/cmd/completion/rlock.bash DESTINATION "${CMAKE_INSTALL_DATADIR}/bash-completion/completions" RENAME rlock)
install(FILES src/cmd/completion/rlock.zsh DESTINATION "${CMAKE_INSTALL_DATADIR}/zsh/site-functions" RENAME _rlock)
install(FILES src/cmd/completion/rlock.fish DESTINATION "${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d")
include("${CMAKE_CURRENT_LIST_DIR}/ThirdParty.cmake")
third_party("${CMAKE_BINARY_DIR}/generated/THIRD-PARTY" "${CMAKE_BINARY_DIR}/generated/components")
install(FILES LICENSE README.md CHANGELOG.md "${CMAKE_BINARY_DIR}/generated/THIRD-PARTY" DESTINATION "${CMAKE_INSTALL_DOCDIR}")
include("${CMAKE_CURRENT_LIST_DIR}/Packages.cmake")
