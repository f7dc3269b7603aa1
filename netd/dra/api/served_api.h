#pragma once
// Where each version of resource.k8s.io is, and whether a server has it. Pure.

#include "ipc/api/resource_api.h"
#include "ipc/base/result.h"
#include "netd/dra/api/api_retry.h"

#include <string>

namespace vfiogate {

/// "resource.k8s.io/v1beta1"
std::string groupVersionOf(ResourceApi api);
/// "/apis/resource.k8s.io/v1beta1": a server answers with what it serves below it.
std::string pathOf(ResourceApi api);

/// Whether the answer to GET of pathOf() says that claims and slices are served. Error: for people,
/// why it says neither.
Result<bool, std::string> isServed(const ApiOutcome& answer);

}  // namespace vfiogate
