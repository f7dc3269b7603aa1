#pragma once
// The number of an IOMMU group.

#include <cstdint>

#include "ipc/base/strong_id.h"

namespace vfiogate {

/// The kernel's number of an IOMMU group, from the link `iommu_group` of a device in sysfs. Not
/// stable: a replugged device may come back in another number, and numbers are reused.
using IommuGroupId = StrongId<struct IommuGroupTag, std::uint32_t>;

}  // namespace vfiogate
