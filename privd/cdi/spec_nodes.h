#pragma once
// The device nodes that a CDI spec names.

#include "ipc/types/vfio_nodes.h"
#include "privd/scan/sysfs_root.h"

#include <set>
#include <string>
#include <vector>

namespace vfiogate {

/// Those that reach all of `addresses`, each looked for once more. Empty: one of them cannot be
/// reached now.
std::vector<std::string> nodesOnDisk(const DevRoot& dev, const Snapshot& hardware,
                                     const std::set<Bdf>& addresses, Backend backend);

}  // namespace vfiogate
