# Code from schemas. Generated code is a system library of its own: our warnings do not apply to it.

# Makes every generated source, and compiles none: what clang-tidy needs before it can read ours.
add_custom_target(generated_sources)

# vfiogate_capnp(NAME FILES...): Cap'n Proto schemas of this folder, as vfiogate::NAME.
# (The imported tool target of Debian's package names a file that does not exist: use the program.)
function(vfiogate_capnp name)
  set(CAPNP_EXECUTABLE ${CAPNP_TOOL})
  set(CAPNPC_CXX_EXECUTABLE ${CAPNPC_CXX})
  set(CAPNP_INCLUDE_DIRECTORY /usr/include)
  set(CAPNPC_SRC_PREFIX ${CMAKE_SOURCE_DIR})
  set(CAPNPC_OUTPUT_DIR ${CMAKE_BINARY_DIR}/generated)
  file(MAKE_DIRECTORY ${CAPNPC_OUTPUT_DIR})
  set(outputs)
  foreach(schema ${ARGN})
    file(RELATIVE_PATH stem ${CMAKE_SOURCE_DIR} ${CMAKE_CURRENT_SOURCE_DIR}/${schema})
    set(out ${CAPNPC_OUTPUT_DIR}/${stem})
    add_custom_command(OUTPUT ${out}.c++ ${out}.h
      COMMAND ${CAPNP_TOOL} compile -o ${CAPNPC_CXX}:${CAPNPC_OUTPUT_DIR}
              --src-prefix ${CMAKE_SOURCE_DIR} -I /usr/include ${CMAKE_CURRENT_SOURCE_DIR}/${schema}
      DEPENDS ${ARGN} VERBATIM)
    list(APPEND outputs ${out}.c++ ${out}.h)
  endforeach()
  add_custom_target(vfiogate_${name}_sources DEPENDS ${outputs})
  add_dependencies(generated_sources vfiogate_${name}_sources)
  add_library(vfiogate_${name} STATIC ${outputs})
  add_dependencies(vfiogate_${name} vfiogate_${name}_sources)
  add_library(vfiogate::${name} ALIAS vfiogate_${name})
  target_include_directories(vfiogate_${name} SYSTEM PUBLIC ${CAPNPC_OUTPUT_DIR})
  target_link_libraries(vfiogate_${name} PUBLIC vfiogate::capnp_rpc vfiogate::hardening)
endfunction()

# vfiogate_proto(NAME FILES... [GRPC]): protobuf files of this folder, as vfiogate::NAME.
function(vfiogate_proto name)
  cmake_parse_arguments(arg "GRPC" "" "" ${ARGN})
  set(out_dir ${CMAKE_BINARY_DIR}/generated)
  file(MAKE_DIRECTORY ${out_dir})
  set(outputs)
  foreach(schema ${arg_UNPARSED_ARGUMENTS})
    file(RELATIVE_PATH stem ${CMAKE_SOURCE_DIR} ${CMAKE_CURRENT_SOURCE_DIR}/${schema})
    string(REGEX REPLACE "\\.proto$" "" stem ${stem})
    set(files ${out_dir}/${stem}.pb.cc ${out_dir}/${stem}.pb.h)
    set(grpc_args)
    if(arg_GRPC)
      list(APPEND files ${out_dir}/${stem}.grpc.pb.cc ${out_dir}/${stem}.grpc.pb.h)
      set(grpc_args --grpc_out=${out_dir} --plugin=protoc-gen-grpc=${GRPC_CPP_PLUGIN})
    endif()
    add_custom_command(OUTPUT ${files}
      COMMAND ${PROTOC_TOOL} -I ${CMAKE_SOURCE_DIR} --cpp_out=${out_dir} ${grpc_args}
              ${CMAKE_CURRENT_SOURCE_DIR}/${schema}
      DEPENDS ${schema} VERBATIM)
    list(APPEND outputs ${files})
  endforeach()
  add_custom_target(vfiogate_${name}_sources DEPENDS ${outputs})
  add_dependencies(generated_sources vfiogate_${name}_sources)
  add_library(vfiogate_${name} STATIC ${outputs})
  add_dependencies(vfiogate_${name} vfiogate_${name}_sources)
  add_library(vfiogate::${name} ALIAS vfiogate_${name})
  target_include_directories(vfiogate_${name} SYSTEM PUBLIC ${out_dir})
  target_link_libraries(vfiogate_${name} PUBLIC vfiogate::protobuf vfiogate::hardening)
  if(arg_GRPC)
    target_link_libraries(vfiogate_${name} PUBLIC vfiogate::grpc)
  endif()
endfunction()
