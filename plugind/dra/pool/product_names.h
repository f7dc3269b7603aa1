#pragma once
// What people call the devices of a pool.

#include "cli/pci_ids.h"
#include "ipc/api/device_pool.h"
#include "ipc/types/snapshot.h"

namespace vfiogate {

/// Adds the attribute `productName` to each device of `hardware` whose model `ids` knows, cut to
/// what the API takes.
void addProductNames(DevicePool& pool, const Snapshot& hardware, const PciIds& ids);

}  // namespace vfiogate
