#pragma once
// ResourceSlices as JSON of each version of resource.k8s.io. Pure.

#include "ipc/api/resource_api.h"
#include "ipc/base/result.h"
#include "netd/dra/slices/slice.h"

#include <nlohmann/json.hpp>

#include <string>

namespace vfiogate {

/// The whole object, as a create or an update sends it.
nlohmann::json jsonOf(const Slice& slice, ResourceApi api);

/// Of an object that the API server sent. Error: for people, why it is no stored slice. Nothing in
/// its spec is an error: what cannot be understood makes it `strange`.
Result<Slice, std::string> sliceFrom(const nlohmann::json& object, ResourceApi api);

}  // namespace vfiogate
