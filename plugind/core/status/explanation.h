#pragma once
// Why a device is offered, or why not: what `plugind explain` prints.
// Why the kubelet sees a device as it does, in one word and in a sentence.

#include "plugind/core/status/status.h"

namespace vfiogate {

struct Explanation {
  UnitId address;
  bool present = false;                  ///< privd sees it
  std::optional<ResourceName> resource;  ///< absent: it falls into none
  std::string reason;                  ///< stable code: "offered", "bridge", "group-allocated", ...
  std::string text;                    ///< the same for people; empty: offered
  std::vector<std::string> lines;      ///< for people, from the device to the kubelet's view
  std::optional<DeviceStatus> device;  ///< present where it has a resource

  friend bool operator==(const Explanation&, const Explanation&) = default;
};

Explanation explain(const Settings& settings, const LedgerState& state, const UnitId& address);

/// `reason`: "offered"; otherwise why not: "represented" by another of its group, a code of
/// viability.h, "flapping", "group-" and the state of its group, "privd-away", "not-adopted",
/// "resting". `text`: for people; empty: offered. All of `device` but these two is filled in.
Bar offerReason(const LedgerState& state, const ResourceName& resource, const DeviceStatus& device);

/// The sets of a resource; `resource` has its devices.
std::vector<SetStatus> setsOf(const LedgerState& state, const ResourceStatus& resource,
                              const ShownResource& shown);
/// The same as offerReason() for a device that is allocated in sets: "offered" in one of them, its
/// own reason, or "set-incomplete".
Bar reasonInSets(const LedgerState& state, const std::vector<SetStatus>& sets,
                 const ResourceName& resource, const DeviceStatus& device);

}  // namespace vfiogate
