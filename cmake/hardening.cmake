# vfiogate::hardening: how the shipped programs are compiled and linked, and the sanitizers.

option(VFIOGATE_HARDEN "Hardened build: what is shipped" OFF)
option(VFIOGATE_FUZZ "Build the libFuzzer targets, too (clang, with sanitizers)" OFF)
set(VFIOGATE_SANITIZE "" CACHE STRING "Sanitizers, as for -fsanitize=")

# Set in the folders of test cases: not optimised, they are compiled in half the time.
define_property(TARGET PROPERTY VFIOGATE_CASES INITIALIZE_FROM_VARIABLE VFIOGATE_CASES)
set(cases $<BOOL:$<TARGET_PROPERTY:VFIOGATE_CASES>>)

add_library(vfiogate_hardening INTERFACE)
add_library(vfiogate::hardening ALIAS vfiogate_hardening)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)

if(VFIOGATE_HARDEN)
  file(RELATIVE_PATH to_source ${CMAKE_BINARY_DIR} ${CMAKE_SOURCE_DIR})
  # Jumps and returns that lead elsewhere: what the processor has against them, and none where it is older.
  set(jumps -fcf-protection)
  if(CMAKE_SYSTEM_PROCESSOR STREQUAL aarch64)
    set(jumps -mbranch-protection=standard)
  endif()
  target_compile_options(vfiogate_hardening INTERFACE -g1 -D_GLIBCXX_ASSERTIONS
    -ffunction-sections -fdata-sections
    "$<IF:${cases},-O0,-O2;-U_FORTIFY_SOURCE;-D_FORTIFY_SOURCE=3>"
    -fstack-protector-strong -fstack-clash-protection ${jumps}
    # The same bytes wherever the tree lies, and no path of the builder's in a log line. The others
    # are for a compiler cache, which may turn paths into those that lead there from the build.
    -ffile-prefix-map=${CMAKE_SOURCE_DIR}/= -ffile-prefix-map=${to_source}=
    -ffile-prefix-map=${CMAKE_BINARY_DIR}/=)
  target_link_options(vfiogate_hardening INTERFACE
    # Relocations take a bit each instead of 24 bytes (glibc 2.36, which Debian 12 has).
    -pie -Wl,-z,pack-relative-relocs -Wl,-z,relro,-z,now -Wl,-z,noexecstack -Wl,-z,separate-code -Wl,--as-needed
    # No function that nothing calls.
    -Wl,--gc-sections)
endif()

if(VFIOGATE_SANITIZE)
  # Without vptr: that check makes a pipe to try memory out, which the daemons' filters kill.
  target_compile_options(vfiogate_hardening INTERFACE
    $<IF:${cases},-O0,-O1> -g1 -fsanitize=${VFIOGATE_SANITIZE} -fno-sanitize=vptr -fno-sanitize-recover=all
    -fno-omit-frame-pointer $<${cases}:-fno-sanitize=undefined>)
  target_compile_definitions(vfiogate_hardening INTERFACE VFIOGATE_SANITIZED)
  if(VFIOGATE_SANITIZE STREQUAL thread)
    # Where the compiler says by this that it watches threads, protobuf's headers give maps two more numbers, which
    # the library of the distribution has not. The C++ library is told by its own name.
    target_compile_options(vfiogate_hardening INTERFACE -U__SANITIZE_THREAD__ -D_GLIBCXX_TSAN=1)
    target_compile_definitions(vfiogate_hardening INTERFACE VFIOGATE_WATCHES_THREADS)
  endif()
  target_link_options(vfiogate_hardening INTERFACE -fsanitize=${VFIOGATE_SANITIZE})
endif()

if(VFIOGATE_FUZZ)
  # What a fuzzer sees of a run: which branches were taken.
  target_compile_options(vfiogate_hardening INTERFACE $<$<NOT:${cases}>:-fsanitize=fuzzer-no-link>)
endif()
