#pragma once
// What whoever excludes a device may not expect of it.

#include "ipc/types/unit_id.h"

#include <string>

namespace vfiogate {

/// One line, by what is below `sysfs` now; empty: there is nothing to say.
std::string holdRemark(const UnitId& device, const std::string& sysfs);

}  // namespace vfiogate
