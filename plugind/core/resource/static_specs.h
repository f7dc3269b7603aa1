#pragma once
// The static CDI specs: which are wanted of privd, and what stands in them.

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "ipc/types/static_spec.h"
#include "plugind/core/holder_record.h"
#include "plugind/core/resource/device_nodes.h"
#include "plugind/core/resource/frame.h"
#include "plugind/core/resource/resource_catalog.h"

namespace vfiogate {

/// The reason code of a device that its resource's spec does not name as it is now.
inline constexpr const char* kSpecReason = "cdi";

/// The complete set of specs that is wanted.
struct SpecPlan {
  std::vector<StaticSpec> specs;   ///< ascending by resource; as many as privd takes
  std::set<ResourceName> tooMany;  ///< there was no room for these
  /// What each device would be reached through: where that changes, privd is asked anew.
  std::map<UnitId, std::vector<std::string>> nodes;
  bool keepsForHolders = false;  ///< something is wanted for no other reason

  friend bool operator==(const SpecPlan&, const SpecPlan&) = default;
};

/// One spec for each resource that needs one, of all its devices: any of them may come to be the
/// one that stands for its group. What was in `before` and is held stays as it was, since
/// containers of its pods start again under the names that the kubelet keeps (ledger.md 13).
SpecPlan planSpecs(const ResourceCatalog& catalog, const Snapshot& hardware,
                   const std::vector<HolderRecord>& records, const SpecPlan& before);

/// What became of one resource's spec. Source: privd's answer to the plan.
struct SpecState {
  std::string trouble;  ///< why it is not in place, for people; empty: it is
  std::map<UnitId, std::vector<std::string>> nodes;  ///< what it hands over for each of its devices

  friend bool operator==(const SpecState&, const SpecState&) = default;
};
using StaticSpecs = std::map<ResourceName, SpecState>;

/// What `resource=address` is called by a runtime.
std::string cdiName(const ResourceName& resource, const UnitId& address);

/// Why the device is not to be offered; null: the resource's spec names it.
std::optional<Bar> barFromSpec(const StaticSpecs& specs, const ResourceName& resource,
                               const UnitId& address);

/// False: the resource needs a spec that is not in place, and the kubelet would see nothing
/// Healthy.
bool mayRegister(const StaticSpecs& specs, const ResourceName& resource,
                 const AllocationSettings& allocation, const Frame& frame);

/// As the first one, and it must hand over exactly `nodes`.
std::optional<Bar> barFromSpec(const StaticSpecs& specs, const ResourceName& resource,
                               const UnitId& address, const std::vector<std::string>& nodes);

}  // namespace vfiogate
