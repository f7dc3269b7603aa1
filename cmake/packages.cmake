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
vfiogate_need(GTest "libgtest-dev libgmock-dev")
# Without TLS: both ends are local sockets, whose owners the kernel names.
vfiogate_need_pc(grpcpp grpc++_unsecure libgrpc++-dev)
vfiogate_need_pc(absl_strings absl_strings libabsl-dev)
vfiogate_need_pc(seccomp libseccomp libseccomp-dev)
vfiogate_need_pc(md libmd libmd-dev)
vfiogate_need_pc(fuse3 fuse3 "libfuse3-dev fuse3")  # tests only: the simulated sysfs
include(known_bad)
vfiogate_refuse_known_bad(${CapnProto_VERSION} ${Protobuf_VERSION})

vfiogate_need_program(CAPNP_TOOL capnp capnproto)
vfiogate_need_program(CAPNPC_CXX capnpc-c++ capnproto)
vfiogate_need_program(PROTOC_TOOL protoc protobuf-compiler)
vfiogate_need_program(GRPC_CPP_PLUGIN grpc_cpp_plugin protobuf-compiler-grpc)
