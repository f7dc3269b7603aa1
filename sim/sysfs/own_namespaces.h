#pragma once
// Where a simulation may be mounted without anybody else seeing it.

#include <sched.h>
#include <sys/mount.h>
#include <unistd.h>

namespace vfiogate::sim {

/// A namespace of mounts, and one of the network, for the rest of this process. False without root
/// or /dev/fuse. Repeatable.
inline bool enterOwnNamespaces() {
  static const bool entered = ::access("/dev/fuse", R_OK | W_OK) == 0 && ::geteuid() == 0 &&
                              ::unshare(CLONE_NEWNS | CLONE_NEWNET) == 0 &&
                              ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0;
  return entered;
}

}  // namespace vfiogate::sim
