#pragma once
// Fixed sets of units that go to one holder together, such as the GPUs of an NVLink partition: each
// is one device of its resource. Whoever has a set keeps the IOMMU groups of all its units, so sets
// with a unit in common exclude each other as devices of one group do.

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "ipc/types/unit_id.h"

namespace vfiogate {

/// As the configuration has it.
struct DeviceSet {
  std::string name;  ///< isSetName(); unique in a configuration
  std::set<UnitId> units;

  friend bool operator==(const DeviceSet&, const DeviceSet&) = default;
};

/// By id.
using DeviceSets = std::map<std::string, std::set<UnitId>>;

inline constexpr std::size_t kLongestSetName = 40;  ///< "set-NAME" is a DNS label, too
inline constexpr std::size_t kMostSetUnits = 64;    ///< of all sets of a configuration together

/// Lower-case letters, digits and '-', the first and the last no '-', at most kLongestSetName.
bool isSetName(std::string_view text);

/// "set:NAME", by which the kubelet knows it.
std::string setId(const std::string& name);
/// The name in what setId() makes. Null: the id is no set's.
std::optional<std::string> setNameIn(std::string_view id);
inline bool isSetId(std::string_view id) {
  return setNameIn(id).has_value();
}

/// The units of all of them.
std::set<UnitId> unitsOf(const std::vector<DeviceSet>& sets);

}  // namespace vfiogate
