#pragma once
// What selectors of claims can ask of a device. docs/dra.md says what each attribute means.

#include <map>
#include <string>

#include "ipc/api/device_pool.h"
#include "ipc/base/resource_name.h"
#include "ipc/types/snapshot.h"

namespace vfiogate {

/// By name: those of the API's domain qualified, our own not. What is not known is left out; of a
/// device that is not in `snapshot` only its address and resource are.
std::map<std::string, AttributeValue> attributesOf(const Snapshot& snapshot, const Bdf& address,
                                                   const ResourceName& resource);

}  // namespace vfiogate
