#pragma once
// The node of the named tests, whose resources claims may have, and its pool.

#include <gmock/gmock.h>

#include "plugind/core/dra/device_attributes.h"
#include "plugind/core/dra/pool_of.h"
#include "tests/unit/plugind/ledger/ledger_case.h"

namespace vfiogate::test {

inline const std::string kNameA = deviceName(at(kA));
inline const std::string kNameB = deviceName(at(kB));
inline const std::string kNameC = deviceName(at(kC));

class PoolCase : public LedgerCase {
protected:
  PoolCase() { node.settings.dra.driver = "vfio.example.org"; }

  DevicePool pool(KeptFields server = {}) const {
    return poolOf(node.settings, node.ledger.state(), "node-1", server);
  }

  /// Name, counter and taint of each device: "0000-01-00-0 group-31 allocated".
  std::vector<std::string> lines(KeptFields server = {}) const {
    std::vector<std::string> all;
    for (const auto& [name, device] : pool(server).devices) {
      all.push_back(name + (device.consumes.empty() ? "" : " " + device.consumes.begin()->counter));
      for (const PoolTaint& taint : device.taints) all.back() += " " + taint.value;
    }
    return all;
  }

  /// The taint of one device; "-": none; "absent": it is not in the pool.
  std::string taint(const std::string& name, KeptFields server = {}) const {
    const DevicePool made = pool(server);
    const auto device = made.devices.find(name);
    if (device == made.devices.end()) return "absent";
    return device->second.taints.empty() ? "-" : device->second.taints.front().value;
  }
};

}  // namespace vfiogate::test
