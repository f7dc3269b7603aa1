#pragma once
// A request of the kubelet, read against what was shown and what there is.

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "plugind/core/device_nodes.h"
#include "plugind/core/frame.h"
#include "plugind/core/refusal.h"
#include "plugind/core/resource_catalog.h"

namespace vfiogate {

/// What the hardware and the configuration say at one moment.
struct Scene {
  const Snapshot& snapshot;
  const ResourceCatalog& catalog;  ///< made from `snapshot`
};

/// The kubelet's request for one container.
struct AllocateRequest {
  ResourceName resource;
  std::vector<std::string> ids;  ///< as the kubelet sent them
  Frame shown;                   ///< the last frame sent on the resource's live stream
};

/// The part of a request that lies in one group.
struct GroupOffer {
  std::optional<IommuGroupId> group;  ///< absent: the device has none
  std::set<Bdf> ids;
  std::set<Bdf> members;   ///< of the group
  std::optional<Bar> bar;  ///< what keeps `ids` from being lent, holders aside

  RefusedDevice device() const { return {*ids.begin(), group}; }
};

/// Splits a request by group. Error: an id that is unknown to the resource or was not shown (row 3
/// of ledger.md 7), or no id at all.
Result<std::vector<GroupOffer>, Refusal> splitByGroup(const AllocateRequest& request,
                                                      const Scene& scene);

}  // namespace vfiogate
