#pragma once
// The writes that a change of drivers makes, each with its undo: state in, ordered writes out.

#include "ipc/types/binding_change.h"
#include "ipc/types/snapshot.h"
#include "privd/state/state_directory.h"

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace vfiogate {

/// The driver_override of a function that may be changed, as it is now; empty: none.
using Overrides = std::map<Bdf, std::string>;

struct Step {
  SysfsWrite write;
  /// What takes it back, in order; an `unbind` of whatever driver has the device then is written
  /// through the device's own link.
  std::vector<SysfsWrite> undo;
  /// What the device's driver has to be once it is written; null: it says nothing of it.
  std::optional<std::string> driverAfter;
  /// It takes a device from VFIO: to be written with the group's node held open.
  bool fromVfio = false;
  /// How many virtual functions the device has to have once it is written; null: it says nothing.
  std::optional<std::uint32_t> vfsAfter = std::nullopt;
};

struct Plan {
  std::vector<Step> steps;
  std::vector<LeftAlone> leftAlone;
  std::vector<std::string> remarks;

  std::set<Bdf> changed() const;
  /// The driver that it binds the function to; empty: none, or the kernel chooses.
  std::string driverFor(const Bdf& address) const;
  /// What takes the first `count` steps back, the last of them first.
  std::vector<SysfsWrite> undoOf(std::size_t count) const;
};

/// Brings every endpoint of `group` off its host driver, and those that are `named` onto
/// `drivers`' entry (which all endpoints have). Others without a driver are left alone.
Plan planBind(const Snapshot& snapshot, const IommuGroup& group, const std::set<Bdf>& named,
              const std::map<Bdf, std::string>& drivers, const Overrides& overrides);

/// What privd knows of a function from before it was bound.
struct Former {
  std::optional<BoundDevice> record;  ///< null: privd did not bind it
  bool sameBoot = false;              ///< it was bound in the boot that runs
  bool driverThere = false;           ///< the former driver still exists
};

/// Gives the functions that are `wanted` back to what they were: the former driver and override
/// where that is known and still holds, else to whatever driver the kernel chooses.
Plan planUnbind(const Snapshot& snapshot, const IommuGroup& group, const std::set<Bdf>& wanted,
                const std::map<Bdf, Former>& former, const Overrides& overrides);

/// Makes so many virtual functions, where there are others; nothing takes that back: privd ends
/// none.
Plan planVfs(const PciDevice& device, std::uint32_t count);

/// "bus/pci/devices/0000:01:00.0/driver_override".
std::string deviceAttribute(const Bdf& address, std::string_view name);
/// What is written to leave `driver` in driver_override: a zero-length write reaches nobody.
std::string overrideText(const std::string& driver);

}  // namespace vfiogate
