# How the program is compiled and linked: warnings, hardening, sanitizers, coverage. After its targets.

include(CheckCXXCompilerFlag)

target_compile_options(rlock_core PUBLIC
  -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion -Wnon-virtual-dtor
  -Wold-style-cast -Woverloaded-virtual -Wformat=2
  -Wno-missing-field-initializers
  $<$<BOOL:${RLOCK_WERROR}>:-Werror>
  # GCC 14 takes the other alternatives of a std::variant for uninitialized, depending on what it inlines.
  $<$<AND:$<BOOL:${RLOCK_WERROR}>,$<CXX_COMPILER_ID:GNU>>:-Wno-error=maybe-uninitialized>
  -ffunction-sections -fdata-sections)
target_link_options(rlock_core PUBLIC -Wl,--as-needed -Wl,--gc-sections)

# ---- hardening: what a mistake with memory must not become ------------------------------------
# tests/hardening.bats looks for these. Together they were 1 % of the instructions of a run, and no time
# that could be told from noise.
set(hardening -fstack-protector-strong)
# Not every compiler and processor has these: clang has the zeros since 16; the last one is of x86, and
# comes into effect where every archive that is linked in has it, too.
foreach(flag -fstack-clash-protection -ftrivial-auto-var-init=zero -fcf-protection=full)
  string(MAKE_C_IDENTIFIER "HAS${flag}" has)
  check_cxx_compiler_flag(${flag} ${has})
  if(${has})
    list(APPEND hardening ${flag})
  endif()
endforeach()
target_compile_definitions(rlock_core PUBLIC _GLIBCXX_ASSERTIONS)
target_link_options(rlock_core PUBLIC
  -Wl,-z,relro,-z,now -Wl,-z,noexecstack -Wl,-z,separate-code)
if(NOT RLOCK_SANITIZE)
  # The sanitizers look for what the zeros would hide, and have checks of their own. Some compilers
  # come with a _FORTIFY_SOURCE, which is taken back before a better one.
  target_compile_options(rlock_core PUBLIC
    "$<$<CONFIG:Release>:${hardening};-U_FORTIFY_SOURCE;-D_FORTIFY_SOURCE=3>")
endif()

if(RLOCK_SANITIZE)
  # g++ takes what its own instrumentation adds for reads of what was never written (its manual says so).
  target_compile_options(rlock_core PUBLIC -fsanitize=${RLOCK_SANITIZE} -fno-omit-frame-pointer
                         -fno-sanitize-recover=all
                         $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>)
  target_link_options(rlock_core PUBLIC -fsanitize=${RLOCK_SANITIZE})
  if(RLOCK_SANITIZE MATCHES undefined)
    # Takes an object for none where there is no descriptor to look at it with: UBSAN_OPTIONS decide.
    target_compile_options(rlock_core PUBLIC -fsanitize-recover=vptr)
    # As a shared library beside libasan it never learns its log_path.
    target_link_options(rlock_core PUBLIC $<$<CXX_COMPILER_ID:GNU>:-static-libubsan>)
  endif()
else()
  # Each shared library less is some 50 us of every run and 25 KB of every waiter.
  # g++ adds -lm by itself, which stays although, once optimised, only discarded sections refer to it.
  set(without_libm "$<AND:$<CONFIG:Release>,$<CXX_COMPILER_ID:GNU>>")
  target_link_options(${dynamic_program} PRIVATE
    $<IF:${without_libm},-nodefaultlibs,-static-libgcc$<SEMICOLON>-static-libstdc++>)
  target_link_libraries(${dynamic_program} PRIVATE
    $<${without_libm}:-Wl,-Bstatic -lstdc++ -lgcc -lgcc_eh -Wl,-Bdynamic -lc -lgcc>)
endif()

# ---- coverage: what the tests execute, counted by gcov --------------------------------------------------
if(RLOCK_COVERAGE)
  target_compile_options(rlock_core PUBLIC --coverage)
  target_link_options(rlock_core PUBLIC --coverage)
  target_sources(rlock PRIVATE ${PROJECT_SOURCE_DIR}/tests/lib/flush_coverage.c)
  target_link_options(rlock PRIVATE -Wl,--wrap=_exit -Wl,--wrap=_Exit)
endif()
