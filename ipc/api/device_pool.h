#pragma once
// The node's devices as the scheduler shall see them: what ResourceSlices are made of.

#include "ipc/api/resource_api.h"

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <variant>
#include <vector>

namespace vfiogate {

/// A version in the sense of semver, which the API keeps apart from text.
struct VersionText {
  std::string text;
  friend bool operator==(const VersionText&, const VersionText&) = default;
};
using AttributeValue = std::variant<std::string, std::int64_t, bool, VersionText>;

struct PoolTaint {  ///< effect NoSchedule
  std::string key;
  std::string value;
  std::chrono::sys_seconds since;

  friend bool operator==(const PoolTaint&, const PoolTaint&) = default;
};

/// One counter, of value 1, that a device consumes: whoever shares it is not allocated beside it.
struct CounterName {
  std::string set;
  std::string counter;

  friend auto operator<=>(const CounterName&, const CounterName&) = default;
};

struct PoolDevice {
  std::map<std::string, AttributeValue> attributes;  ///< by qualified name
  std::set<CounterName> consumes;  ///< of a set of devices one for each of its groups
  std::vector<PoolTaint> taints;

  friend bool operator==(const PoolDevice&, const PoolDevice&) = default;
};

/// One pool a node. Source: the ledger and the snapshot (plugind/core/dra).
struct DevicePool {
  std::string driver;
  std::string name;                                          ///< the node's
  std::map<std::string, PoolDevice> devices;                 ///< by name, a DNS label
  std::map<std::string, std::set<std::string>> counterSets;  ///< by name: its counters

  friend bool operator==(const DevicePool&, const DevicePool&) = default;
};

/// What the API server stored of what it was sent: a gate that is off, or a version without the
/// field, drops it in silence.
struct KeptFields {
  bool counters = true;
  bool taints = true;
  std::optional<ResourceApi> api = std::nullopt;  ///< by which it was sent

  friend bool operator==(const KeptFields&, const KeptFields&) = default;
};

}  // namespace vfiogate
