#pragma once
// What selectors of claims can ask of a device. docs/dra.md says what each attribute means.

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "ipc/api/device_pool.h"
#include "ipc/base/kube_names.h"
#include "ipc/types/snapshot.h"
#include "ipc/types/unit_id.h"

namespace vfiogate {

/// By name: those of the API's domain qualified, our own not. What is not known is left out; of a
/// device that is not in `snapshot` only its address and resource are.
std::map<std::string, AttributeValue> attributesOf(const Snapshot& snapshot, const UnitId& address,
                                                   const ResourceName& resource);

/// "0000-17-00-0", a DNS label: the kernel's spelling with '-' for ':' and '.'.
std::string deviceName(const UnitId& address);

/// "set-NAME" of the set with this id.
std::string setDeviceName(const std::string& id);
/// The id of the set. Null: not what setDeviceName() makes.
std::optional<std::string> setInDeviceName(std::string_view name);

/// What all units of a set have in common, and the set's name.
std::map<std::string, AttributeValue> attributesOfSet(const Snapshot& snapshot,
                                                      const std::string& id,
                                                      const std::set<UnitId>& units,
                                                      const ResourceName& resource);

/// Null: not exactly what deviceName() makes.
std::optional<UnitId> deviceAddress(std::string_view name);

}  // namespace vfiogate
