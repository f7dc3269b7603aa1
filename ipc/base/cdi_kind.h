#pragma once
// Which resources can be a kind of device in the words of CDI.

#include "ipc/base/resource_name.h"

namespace vfiogate {

/// False: no CDI spec of version 0.5.0 can be of the kind that is named as `resource`. Vendor
/// (before the '/') and class (after it) begin with a letter and have more than that, and the class
/// has no dot. What else CDI wants, every resource name has. Source: CDI's SPEC.md, "Kind".
bool isCdiKind(const ResourceName& resource);

}  // namespace vfiogate
