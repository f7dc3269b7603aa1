#pragma once
// Why a device is offered, or why not: what `plugind explain` prints.

#include "plugind/core/status/status.h"

namespace vfiogate {

struct Explanation {
  Bdf address;
  bool present = false;                  ///< privd sees it
  std::optional<ResourceName> resource;  ///< absent: it falls into none
  std::string reason;                  ///< stable code: "offered", "bridge", "group-allocated", ...
  std::vector<std::string> lines;      ///< for people, from the device to the kubelet's view
  std::optional<DeviceStatus> device;  ///< present where it has a resource

  friend bool operator==(const Explanation&, const Explanation&) = default;
};

Explanation explain(const Settings& settings, const LedgerState& state, const Bdf& address);

}  // namespace vfiogate
