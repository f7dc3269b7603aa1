#pragma once
// The callbacks of libfuse's low-level interface, for fuse_server.cc alone.

#define FUSE_USE_VERSION 314  // what Debian 12 has
#include <fuse3/fuse_lowlevel.h>

namespace vfiogate::sim {

const fuse_lowlevel_ops& fuseOperations();

}  // namespace vfiogate::sim
