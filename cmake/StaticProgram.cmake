# One program or two: `static` says which.
# What runs before main() in a program with shared libraries is a tenth of the time of a run and a sixth of
# the memory of a waiter. So in a release the program is a static one, still at an address of its own each
# time; src/os/libraries.hpp says what becomes of what takes a library.
include(CheckCXXSourceCompiles)
include(CMakePushCheckState)

if(RLOCK_STATIC STREQUAL AUTO)
  set(static OFF)
  if(CMAKE_BUILD_TYPE STREQUAL Release AND NOT RLOCK_SANITIZE AND NOT RLOCK_COVERAGE AND NOT RLOCK_FUZZ
     AND NOT "${HIREDIS_LIBRARY};${ZOOKEEPER_LIBRARY}" MATCHES "\\.so")
    # glibc looks names up in files and DNS without a plugin since 2.34.
    cmake_push_check_state(RESET)
    set(CMAKE_REQUIRED_FLAGS -fPIE)
    set(CMAKE_REQUIRED_LINK_OPTIONS -static-pie)
    set(CMAKE_REQUIRED_LIBRARIES Threads::Threads)
    if(NOT STATIC_LINKS)
      unset(STATIC_LINKS CACHE) # the libraries may be there by now
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
