# The program's dependencies, and what it lacks without the optional ones.
include(CheckCSourceCompiles)
include(CMakePushCheckState)

# leave_out(WHAT HOW): records that this build lacks WHAT; scripts/build ends with these lines,
# scripts/package refuses.
set(left_out "${CMAKE_BINARY_DIR}/generated/left-out")
file(WRITE "${left_out}" "")
function(leave_out what how)
  message(WARNING "without ${what}: ${how}, and build again")
  file(APPEND "${left_out}" "without ${what}: ${how}, and build again\n")
endfunction()

find_package(Threads REQUIRED)
find_package(fmt REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(CLI11 REQUIRED)

# hiredis as a static archive: loading shared libraries takes half the time of a short run.
find_path(HIREDIS_INCLUDE hiredis/hiredis.h HINTS "${HIREDIS_ROOT}/include" REQUIRED)
find_library(HIREDIS_LIBRARY NAMES libhiredis.a hiredis HINTS "${HIREDIS_ROOT}/lib" REQUIRED)
file(STRINGS "${HIREDIS_INCLUDE}/hiredis/hiredis.h" hiredis_version
     REGEX "^#define HIREDIS_(MAJOR|MINOR|PATCH) ")
list(TRANSFORM hiredis_version REPLACE "[^0-9]" "")
list(JOIN hiredis_version "." hiredis_version)
message(STATUS "hiredis ${hiredis_version}: ${HIREDIS_LIBRARY}")

# TLS: only the headers, because the first connection that needs the library loads it. hiredis accepts a
# custom transport since 1.0.
find_package(OpenSSL 3.0)
if(OPENSSL_FOUND AND hiredis_version VERSION_GREATER_EQUAL 1.0)
  set(tls_sources store/tls/openssl.cpp store/redis/tls.cpp)
  set(built_tls "yes, with OpenSSL 3 of the host")
else()
  leave_out("TLS (rediss://)" "install hiredis 1.0 (scripts/install-hiredis) and OpenSSL 3.0 (libssl-dev), or newer")
  set(tls_sources store/tls/without_openssl.cpp store/redis/without_tls.cpp)
  set(built_tls "no")
endif()

# PostgreSQL: only the header, as for OpenSSL: the first URL of a database loads the library.
find_path(POSTGRES_INCLUDE libpq-fe.h PATH_SUFFIXES postgresql)
if(POSTGRES_INCLUDE)
  set(built_postgres "yes, with libpq of the host")
  set(postgres_sources
    store/postgres/connection.cpp
    store/postgres/database.cpp
    store/postgres/doctor.cpp
    store/postgres/parting.cpp
    store/postgres/postgres.cpp
    store/postgres/rows.cpp
    store/postgres/table.cpp)
  set(libpq_sources store/postgres/libpq.cpp)
  set(without_libpq_sources store/postgres/without_libpq.cpp)
else()
  leave_out("PostgreSQL (postgresql://)" "install libpq's header (libpq-dev)")
  set(built_postgres "no")
  set(postgres_sources store/postgres/without_postgres.cpp)
  set(libpq_sources "")
  set(without_libpq_sources "")
  set(POSTGRES_INCLUDE "")
endif()

# ZooKeeper: the single-threaded client, because no thread may exist when a job is forked; as a static
# archive, so that other runs load no further library.
find_path(ZOOKEEPER_INCLUDE zookeeper/zookeeper.h)
find_library(ZOOKEEPER_LIBRARY NAMES libzookeeper_st.a zookeeper_st)
if(NOT (ZOOKEEPER_INCLUDE AND ZOOKEEPER_LIBRARY AND ZOOKEEPER_LINKS))
  unset(ZOOKEEPER_LINKS CACHE) # earlier results may be outdated
endif()
if(ZOOKEEPER_INCLUDE AND ZOOKEEPER_LIBRARY)
  # Not one that needs more libraries, such as OpenSSL.
  cmake_push_check_state(RESET)
  set(CMAKE_REQUIRED_INCLUDES "${ZOOKEEPER_INCLUDE}")
  set(CMAKE_REQUIRED_LIBRARIES "${ZOOKEEPER_LIBRARY}" Threads::Threads)
  check_c_source_compiles("
    #include <zookeeper/zookeeper.h>
    int main(void) { return zoo_set_servers_resolution_delay(zookeeper_init(\"\", 0, 0, 0, 0, 0), 0); }" ZOOKEEPER_LINKS)
  cmake_pop_check_state()
endif()
if(ZOOKEEPER_LINKS)
  file(STRINGS "${ZOOKEEPER_INCLUDE}/zookeeper/zookeeper_version.h" zookeeper_version
       REGEX "^#define ZOO_(MAJOR|MINOR|PATCH)_VERSION |^#define ZOO_VERSION ")
  list(TRANSFORM zookeeper_version REPLACE "^[^ ]+ [^ ]+ |\"" "")
  list(JOIN zookeeper_version "." zookeeper_version)
  set(built_zookeeper "yes, client ${zookeeper_version}")
  set(zookeeper_sources
    store/zookeeper/client.cpp
    store/zookeeper/doctor.cpp
    store/zookeeper/places.cpp
    store/zookeeper/questions.cpp
    store/zookeeper/zookeeper.cpp)
else()
  leave_out("ZooKeeper (zk://)" "install its single-threaded C client (libzookeeper-st-dev)")
  set(zookeeper_sources store/zookeeper/without_zookeeper.cpp)
  set(built_zookeeper "no")
  set(ZOOKEEPER_INCLUDE "")
  set(ZOOKEEPER_LIBRARY "")
endif()
