# Finds what Debian provides; a missing package stops here with the name to install.

find_program(CCACHE_PROGRAM ccache)
if(CCACHE_PROGRAM)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CCACHE_PROGRAM})
  set(CMAKE_C_COMPILER_LAUNCHER ${CCACHE_PROGRAM})
endif()

macro(vfiogate_need package debian)
  find_package(${package} QUIET ${ARGN})
  if(NOT ${package}_FOUND)
    message(FATAL_ERROR "${package} is missing. Install it with: apt-get install ${debian}")
  endif()
endmacro()

vfiogate_need(PkgConfig pkg-config)
macro(vfiogate_need_pc target module debian)
  pkg_check_modules(${target} QUIET IMPORTED_TARGET ${module})
  if(NOT ${target}_FOUND)
    message(FATAL_ERROR "${module} is missing. Install it with: apt-get install ${debian}")
  endif()
endmacro()

function(vfiogate_need_program variable name debian)
  find_program(${variable} ${name})
  if(NOT ${variable})
    message(FATAL_ERROR "${name} is missing. Install it with: apt-get install ${debian}")
  endif()
endfunction()

vfiogate_need(Threads libc6-dev)
vfiogate_need(CapnProto libcapnp-dev)
vfiogate_need(OpenSSL libssl-dev)  # kj-tls is above it
vfiogate_need(Protobuf libprotobuf-dev)
vfiogate_need(spdlog libspdlog-dev)
vfiogate_need(yaml-cpp libyaml-cpp-dev)
vfiogate_need(CLI11 libcli11-dev)
vfiogate_need(nlohmann_json nlohmann-json3-dev)
vfiogate_need(prometheus-cpp prometheus-cpp-dev)
if(BUILD_TESTING)
  vfiogate_need(GTest "libgtest-dev libgmock-dev")
endif()
# Without TLS: both ends are local sockets, whose owners the kernel names.
vfiogate_need_pc(grpcpp grpc++_unsecure libgrpc++-dev)
vfiogate_need_pc(absl_strings absl_strings libabsl-dev)
vfiogate_need_pc(seccomp libseccomp libseccomp-dev)
vfiogate_need_pc(md libmd libmd-dev)
if(VFIOGATE_SIMULATORS)
  vfiogate_need_pc(fuse3 fuse3 "libfuse3-dev fuse3")  # the simulated sysfs
endif()
include(known_bad)
vfiogate_refuse_known_bad(${CapnProto_VERSION} ${Protobuf_VERSION})

vfiogate_need_program(CAPNP_TOOL capnp capnproto)
vfiogate_need_program(CAPNPC_CXX capnpc-c++ capnproto)
vfiogate_need_program(PROTOC_TOOL protoc protobuf-compiler)
vfiogate_need_program(GRPC_CPP_PLUGIN grpc_cpp_plugin protobuf-compiler-grpc)

# vfiogate::kj, vfiogate::capnp_rpc, vfiogate::grpc, ...: libraries of which Debian has archives, too. A program with the
# property VFIOGATE_ARCHIVES has them in itself: it starts without looking for dozens of files, takes of each what it needs, and
# runs as it was built, whatever the host has. Tests, which are linked often, load them. ADR 0022.
define_property(TARGET PROPERTY VFIOGATE_ARCHIVES BRIEF_DOCS "Link archives of what Debian ships as archives")

# vfiogate_archived(NAME TARGET ARCHIVES...): vfiogate::NAME, the imported TARGET or its archives, each before what it needs.
function(vfiogate_archived name shared)
  add_library(vfiogate_${name} INTERFACE)
  add_library(vfiogate::${name} ALIAS vfiogate_${name})
  set(archives)
  foreach(archive ${ARGN})
    find_library(VFIOGATE_${archive}_ARCHIVE lib${archive}.a REQUIRED)
    list(APPEND archives ${VFIOGATE_${archive}_ARCHIVE})
  endforeach()
  set(inside $<BOOL:$<TARGET_PROPERTY:VFIOGATE_ARCHIVES>>)
  target_link_libraries(vfiogate_${name} INTERFACE "$<${inside}:${archives}>" "$<$<NOT:${inside}>:${shared}>")
endfunction()
vfiogate_archived(kj CapnProto::kj kj)
vfiogate_archived(kj_async CapnProto::kj-async kj-async kj)
vfiogate_archived(kj_http CapnProto::kj-http kj-http kj-async kj z) # zlib: since KJ 1.0
vfiogate_archived(kj_tls CapnProto::kj-tls kj-tls kj-async kj)
target_link_libraries(vfiogate_kj_tls INTERFACE OpenSSL::SSL) # loaded: the host mends it
vfiogate_archived(capnp_rpc CapnProto::capnp-rpc capnp-rpc capnp kj-async kj)
vfiogate_archived(md PkgConfig::md md)
vfiogate_archived(yaml yaml-cpp yaml-cpp)

vfiogate_archived(protobuf protobuf::libprotobuf protobuf z)

# gRPC's archives and abseil's need each other. pkg-config names those that users of gRPC see; of the others, gRPC's own, a
# release of Debian may have none.
set(grpc_archives)
foreach(library ${grpcpp_LINK_LIBRARIES} ${absl_strings_LINK_LIBRARIES})
  string(REGEX REPLACE "\\.so[.0-9]*$" ".a" archive ${library})
  if(archive MATCHES "lib(grpc|gpr|absl)[^/]*\\.a$" AND EXISTS ${archive})
    list(APPEND grpc_archives ${archive})
  endif()
endforeach()
foreach(archive upb address_sorting cares protobuf z)
  find_library(VFIOGATE_${archive}_ARCHIVE lib${archive}.a)
  if(VFIOGATE_${archive}_ARCHIVE)
    list(APPEND grpc_archives ${VFIOGATE_${archive}_ARCHIVE})
  endif()
endforeach()
list(REMOVE_DUPLICATES grpc_archives)
list(JOIN grpc_archives "," grpc_archives)
add_library(vfiogate_grpc INTERFACE)
add_library(vfiogate::grpc ALIAS vfiogate_grpc)
target_link_libraries(vfiogate_grpc INTERFACE
  "$<$<BOOL:$<TARGET_PROPERTY:VFIOGATE_ARCHIVES>>:$<LINK_GROUP:RESCAN,${grpc_archives}>>"
  "$<$<NOT:$<BOOL:$<TARGET_PROPERTY:VFIOGATE_ARCHIVES>>>:PkgConfig::grpcpp>")
