# The installed files, and packages of them.

# rlock executes nothing from a group-writable directory, which umask 002 would create.
set(CMAKE_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS
  OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
set(CMAKE_INSTALL_DEFAULT_COMPONENT_NAME program)
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
install(FILES scripts/monitoring/rules.yml scripts/monitoring/grafana.json DESTINATION "${CMAKE_INSTALL_DOCDIR}/monitoring")
# The library, for programs that use it and for those who write them.
include(CMakePackageConfigHelpers)
set(config "${CMAKE_INSTALL_LIBDIR}/cmake/Rlock")
install(TARGETS librlock EXPORT RlockTargets
  LIBRARY COMPONENT library NAMELINK_COMPONENT development INCLUDES DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}")
install(FILES "${CMAKE_BINARY_DIR}/librlock.a" DESTINATION "${CMAKE_INSTALL_LIBDIR}" COMPONENT development)
install(FILES include/rlock/rlock.hpp DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/rlock" COMPONENT development)
install(EXPORT RlockTargets NAMESPACE rlock:: DESTINATION "${config}" COMPONENT development)
configure_package_config_file(cmake/RlockConfig.cmake.in "${CMAKE_BINARY_DIR}/generated/RlockConfig.cmake"
  INSTALL_DESTINATION "${config}" PATH_VARS CMAKE_INSTALL_LIBDIR CMAKE_INSTALL_INCLUDEDIR)
write_basic_package_version_file("${CMAKE_BINARY_DIR}/generated/RlockConfigVersion.cmake" COMPATIBILITY SameMinorVersion)
install(FILES "${CMAKE_BINARY_DIR}/generated/RlockConfig.cmake" "${CMAKE_BINARY_DIR}/generated/RlockConfigVersion.cmake"
  DESTINATION "${config}" COMPONENT development)
file(RELATIVE_PATH prefix_of_pc "/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/")
configure_file(cmake/rlock.pc.in "${CMAKE_BINARY_DIR}/generated/rlock.pc" @ONLY)
install(FILES "${CMAKE_BINARY_DIR}/generated/rlock.pc" DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig" COMPONENT development)
install(FILES man/rlock.3 DESTINATION "${CMAKE_INSTALL_MANDIR}/man3" COMPONENT development)
include("${CMAKE_CURRENT_LIST_DIR}/Packages.cmake")
