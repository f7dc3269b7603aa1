# vfiogate::build_info: version, commit and date (ipc/base/build_info.h), for programs alone. Looked at
# in every build, and compiled only where it is another.
set(build_info ${CMAKE_BINARY_DIR}/generated/build_info.cc)
add_custom_target(vfiogate_build_info_source BYPRODUCTS ${build_info} VERBATIM
  COMMAND ${CMAKE_COMMAND} -DSOURCE=${CMAKE_SOURCE_DIR} -DVERSION=${PROJECT_VERSION} -DOUT=${build_info}
          -P ${CMAKE_SOURCE_DIR}/cmake/write_build_info.cmake)
add_dependencies(generated_sources vfiogate_build_info_source)
add_library(vfiogate_build_info STATIC ${build_info})
add_library(vfiogate::build_info ALIAS vfiogate_build_info)
add_dependencies(vfiogate_build_info vfiogate_build_info_source)
target_include_directories(vfiogate_build_info PRIVATE ${CMAKE_SOURCE_DIR})
target_link_libraries(vfiogate_build_info PRIVATE vfiogate::hardening vfiogate::warnings)
