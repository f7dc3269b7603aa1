# vfiogate::warnings: what every target of ours compiles with. Warnings are errors.
# Debian's grpc, protobuf and kj headers come in as system headers and are not judged.

option(VFIOGATE_TIDY "Run clang-tidy beside the compiler" OFF)

add_library(vfiogate_warnings INTERFACE)
add_library(vfiogate::warnings ALIAS vfiogate_warnings)
# Not -Wnon-virtual-dtor: KJ's interfaces have none on purpose. Deleting through one is an error
# all the same (-Wdelete-non-virtual-dtor, in -Wall).
target_compile_options(vfiogate_warnings INTERFACE
  -Wall -Wextra -Wpedantic -Werror -Wshadow -Wconversion -Wold-style-cast
  -Woverloaded-virtual -Wnull-dereference -Wformat=2 -Wcast-align -Wunused -Wvla
  # Designated initialisers leave out members on purpose: these have defaults.
  -Wno-missing-field-initializers
  # g++ 12 is often wrong about std::optional and kj::Maybe; clang-tidy's analyzer looks for these.
  $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>
  # KJ_REQUIRE_NONNULL is one.
  $<$<CXX_COMPILER_ID:Clang>:-Wno-gnu-statement-expression>)

if(VFIOGATE_TIDY)
  find_program(CLANG_TIDY clang-tidy)
  if(NOT CLANG_TIDY)
    message(FATAL_ERROR "clang-tidy is missing. Install it with: apt-get install clang-tidy")
  endif()
endif()

# Lets clang-tidy judge TARGET in the tidy preset; generated code is never given to it.
function(vfiogate_tidy target)
  if(VFIOGATE_TIDY)
    set_target_properties(${target} PROPERTIES CXX_CLANG_TIDY "${CLANG_TIDY};--quiet")
  endif()
endfunction()
