# The compiler's and linker's options: warnings, hardening, sanitizers, coverage. Include after the targets.

include(CheckCXXCompilerFlag)

target_compile_options(rlock_core PUBLIC
  -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion -Wnon-virtual-dtor
  -Wold-style-cast -Woverloaded-virtual -Wformat=2
  -Wno-missing-field-initializers
  $<$<BOOL:${RLOCK_WERROR}>:-Werror>
  # GCC 14 takes inactive alternatives of a std::variant for uninitialized, depending on its inlining.
  $<$<AND:$<BOOL:${RLOCK_WERROR}>,$<CXX_COMPILER_ID:GNU>>:-Wno-error=maybe-uninitialized>
  -ffunction-sections -fdata-sections)
target_link_options(rlock_core PUBLIC -Wl,--as-needed -Wl,--gc-sections)

# ---- hardening against mistakes with memory ------------------------------------------------
# tests/hardening.bats checks these. Together they cost 1 % of a run's instructions, and no measurable time.
set(hardening -fstack-protector-strong)
# Not every compiler and processor has these: clang has the zeros since 16. The last one is for x86, and takes
# effect only if every archive that is linked in also has it.
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
  # The zeros would hide mistakes from the sanitizers, which have checks of their own. Some compilers
  # predefine _FORTIFY_SOURCE, so undefine it before defining a better one.
  target_compile_options(rlock_core PUBLIC
    "$<$<CONFIG:Release>:${hardening};-U_FORTIFY_SOURCE;-D_FORTIFY_SOURCE=3>")
endif()

if(RLOCK_SANITIZE)
  # g++ mistakes its own instrumentation for reads of uninitialized memory (its manual says so).
  target_compile_options(rlock_core PUBLIC -fsanitize=${RLOCK_SANITIZE} -fno-omit-frame-pointer
                         -fno-sanitize-recover=all
                         $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>)
  target_link_options(rlock_core PUBLIC -fsanitize=${RLOCK_SANITIZE})
  if(RLOCK_SANITIZE MATCHES undefined)
    # Reports a missing object if there is no descriptor to check it with: UBSAN_OPTIONS decide.
    target_compile_options(rlock_core PUBLIC -fsanitize-recover=vptr)
    # As a shared library beside libasan it never learns its log_path.
    target_link_options(rlock_core PUBLIC $<$<CXX_COMPILER_ID:GNU>:-static-libubsan>)
  endif()
else()
  # Each shared library costs every run some 50 us and every waiter 25 KB. g++ adds -lm by itself, and it
  # stays although only discarded sections refer to it after optimisation.
  set(without_libm "$<AND:$<CONFIG:Release>,$<CXX_COMPILER_ID:GNU>>")
  target_link_options(${dynamic_program} PRIVATE
    $<IF:${without_libm},-nodefaultlibs,-static-libgcc$<SEMICOLON>-static-libstdc++>)
  target_link_libraries(${dynamic_program} PRIVATE
    $<${without_libm}:-Wl,-Bstatic -lstdc++ -lgcc -lgcc_eh -Wl,-Bdynamic -lc -lgcc>)
endif()

# ---- coverage: executed lines and branches, counted by gcov ----------------------------------------------
if(RLOCK_COVERAGE)
  target_compile_options(rlock_core PUBLIC --coverage)
  target_link_options(rlock_core PUBLIC --coverage)
  target_sources(rlock PRIVATE ${PROJECT_SOURCE_DIR}/tests/lib/flush_coverage.c)
  target_link_options(rlock PRIVATE -Wl,--wrap=_exit -Wl,--wrap=_Exit)
endif()
