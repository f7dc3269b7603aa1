#pragma once
// A request of the kubelet, with what it could know when it asked.

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "plugind/core/refusal.h"
#include "plugind/core/resource/device_nodes.h"
#include "plugind/core/resource/frame.h"
#include "plugind/core/resource/resource_catalog.h"

namespace vfiogate {

/// The kubelet's request for one container.
struct AllocateRequest {
  ResourceName resource;
  std::vector<std::string> ids;  ///< as the kubelet sent them
  Frame shown;  ///< the last frame sent on the resource's live stream; no less than `ids` of it

  friend bool operator==(const AllocateRequest&, const AllocateRequest&) = default;
};

}  // namespace vfiogate
