#pragma once
// What people call the devices of a pool.

#include "cli/pci_ids.h"
#include "plugind/api/device_pool.h"

namespace vfiogate {

/// Adds the attribute `productName` to each device whose model `ids` knows, by its attributes
/// `vendor` and `device`; cut to what the API takes.
void addProductNames(DevicePool& pool, const PciIds& ids);

}  // namespace vfiogate
