# For CMAKE_TOOLCHAIN_FILE: a build for 64-bit ARM with the distribution's cross compiler, and with libraries
# from a directory that scripts/packaging/sysroot has filled.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(CMAKE_STRIP aarch64-linux-gnu-strip)
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)
# The compiler's trials during configuration also read this file.
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES THIRD_PARTY_ROOT)
set(CMAKE_FIND_ROOT_PATH "${THIRD_PARTY_ROOT}")
# Some of OpenSSL's headers are in this directory, which only the native compiler searches by default.
set(CMAKE_CXX_STANDARD_INCLUDE_DIRECTORIES "${THIRD_PARTY_ROOT}/usr/include/aarch64-linux-gnu")
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
