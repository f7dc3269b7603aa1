#pragma once
// What a running process may have, changed from outside. A limit is its own user's to change, or
// CAP_SYS_RESOURCE's: `uid` is the process's.

#include <sys/resource.h>
#include <sys/types.h>

namespace vfiogate::test {

/// The soft limit of descriptors, which the process may have again. The one before. Throws
/// std::runtime_error, as the others do, where a limit cannot be read or changed.
rlim_t limitDescriptors(pid_t process, uid_t uid, rlim_t value);

/// From now on the process finds no number for a fourth descriptor more than it has.
void leaveRoomForThree(pid_t process, uid_t uid);

/// One of its limits, for good.
void lowerLimit(pid_t process, uid_t uid, __rlimit_resource resource, rlim_t value);

}  // namespace vfiogate::test
