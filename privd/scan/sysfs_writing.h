#pragma once
// Whether privd could write what binding a device writes.

#include "ipc/types/snapshot.h"
#include "privd/scan/sysfs_root.h"

namespace vfiogate {

/// Opens an attribute that binding needs, and writes nothing.
SysfsWriting sysfsWriting(const SysfsRoot& sysfs);

}  // namespace vfiogate
