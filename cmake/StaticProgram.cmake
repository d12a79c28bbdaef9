# One program or two: sets `static`. In a program with shared libraries the code before main() takes a tenth
# of a run's time and a sixth of a waiter's memory. So a release is a static program, loaded at a different
# address each time; src/os/libraries.hpp describes the other program, for features that need a library.
include(CheckCXXSourceCompiles)
include(CMakePushCheckState)

if(RLOCK_STATIC STREQUAL AUTO)
  set(static OFF)
  if(CMAKE_BUILD_TYPE STREQUAL Release AND NOT RLOCK_SANITIZE AND NOT RLOCK_COVERAGE AND NOT RLOCK_FUZZ
     AND NOT "${HIREDIS_LIBRARY};${ZOOKEEPER_LIBRARY}" MATCHES "\\.so")
    # Since 2.34 glibc looks up names in files and DNS without a plugin.
    cmake_push_check_state(RESET)
    set(CMAKE_REQUIRED_FLAGS -fPIE)
    set(CMAKE_REQUIRED_LINK_OPTIONS -static-pie)
    set(CMAKE_REQUIRED_LIBRARIES Threads::Threads)
    if(NOT STATIC_LINKS)
      unset(STATIC_LINKS CACHE) # the libraries may have been installed since
    endif()
    check_cxx_source_compiles("
      #include <netdb.h>
      #include <nss.h>
      #include <iostream>
      #include <thread>
      #if !__GLIBC_PREREQ(2, 34)
      #error too old
      #endif
      int main() {
        std::thread{[] { std::cout << __nss_configure_lookup(\"hosts\", \"files dns\"); }}.join();
        return getaddrinfo(\"\", \"\", nullptr, nullptr);
      }" STATIC_LINKS)
    cmake_pop_check_state()
    if(STATIC_LINKS)
      set(static ON)
    else()
      leave_out("a static program" "install glibc 2.34 or newer with its libc.a (libc6-dev), and libstdc++.a (g++)")
    endif()
  endif()
else()
  set(static "${RLOCK_STATIC}")
endif()
message(STATUS "static program: ${static}")
