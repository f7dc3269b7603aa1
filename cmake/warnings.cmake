# vfiogate::warnings: what every target of ours compiles with. Warnings are errors.
# Debian's grpc, protobuf and kj headers come in as system headers and are not judged.

add_library(vfiogate_warnings INTERFACE)
add_library(vfiogate::warnings ALIAS vfiogate_warnings)
# Not -Wnon-virtual-dtor: KJ's interfaces have none on purpose. Deleting through one is an error
# all the same (-Wdelete-non-virtual-dtor, in -Wall).
target_compile_options(vfiogate_warnings INTERFACE
  -Wall -Wextra -Wpedantic -Werror -Wshadow -Wconversion -Wold-style-cast
  -Woverloaded-virtual -Wformat=2 -Wcast-align -Wunused -Wvla
  # Designated initialisers leave out members on purpose: these have defaults.
  -Wno-missing-field-initializers
  # No -Wnull-dereference, no -Wmaybe-uninitialized: g++ 12 is often wrong about std::vector,
  # std::optional and kj::Maybe. clang-tidy's analyzer looks for both.
  $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>
  # KJ_REQUIRE_NONNULL is one.
  $<$<CXX_COMPILER_ID:Clang>:-Wno-gnu-statement-expression>)
