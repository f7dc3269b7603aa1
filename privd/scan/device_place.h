#pragma once
// Where a PCI function is in the machine: what is above it, and the physical slot of its card.

#include "ipc/types/bdf.h"
#include "privd/scan/sysfs_root.h"

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace vfiogate {

/// Physical slots by what is in them: a device without its function, "0000:3b:00", or all of a bus,
/// "0000:3b", as firmware has it that cannot tell before a card is in it (pSeries). No name:
/// several say so, and which is meant nobody knows.
using SlotNames = std::map<std::string, std::string, std::less<>>;

/// The first 1,024 of them. Not among them: one that says no address, or one that makes no sense,
/// or whose name no selector could say. Source: /sys/bus/pci/slots.
SlotNames readSlots(const SysfsRoot& sysfs);

struct DevicePlace {
  std::string root;             ///< the root complex, "pci0000:00"; empty: not to be told
  std::optional<Bdf> rootPort;  ///< the bridge on the root bus that it is below; null: it is on it
  std::string slot;             ///< the nearest on the way up; empty: none

  friend bool operator==(const DevicePlace&, const DevicePlace&) = default;
};

/// Of the function in which `path` ends, a path of sysfs. A virtual function is in the slot of its
/// physical one, of which it is a part; on the bus it is a device beside it.
DevicePlace placeOf(std::string_view path, const std::optional<Bdf>& physicalFunction,
                    const SlotNames& slots);

}  // namespace vfiogate
