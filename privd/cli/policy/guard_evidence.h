#pragma once
// Which evidence each guard against a change of drivers has on this host.

#include "ipc/types/binding_change.h"

#include <nlohmann/json.hpp>

#include <optional>
#include <string>
#include <vector>

namespace vfiogate {

/// What a guard could read, as tried here and now. A text for people in each.
struct Sight {
  enum class Clear { kYes, kNo, kUntried } clear = Clear::kUntried;
  std::string what;
};

struct HostSights {
  Sight headers;     ///< of PCI functions: bus/pci/devices/*/config
  Sight disks;       ///< whether block devices can be opened at all
  Sight mounts;      ///< the host's mountinfo and swaps
  Sight interfaces;  ///< whether sysfs shows the host's network interfaces
  Sight routes;
  Sight modules;  ///< reference counts of host drivers
  Sight groups;   ///< IOMMU groups
  Sight nodes;    ///< whether VFIO's nodes can be opened
  Sight state;    ///< the state directory, where operators' exclusions are kept
};

struct GuardEvidence {
  Guard guard;
  Sight::Clear has;
  std::string evidence;  ///< for people: what it is, and what is missing
};

/// Where it is looked for: as `privd serve` is told.
struct SightPlaces {
  std::string sysfs = "/sys";
  std::string dev = "/dev";
  std::string stateDir = "/var/lib/vfiogate";
  std::string hostMountinfo;  ///< empty: this process's own
  std::string hostRoute;      ///< empty: this process's own
};

/// Opens no VFIO group and no disk that is in use by exclusion: of disks one is opened for reading,
/// shared, and of VFIO the container's node, which is for everybody.
HostSights findEvidence(const SightPlaces& places);

/// One for each guard, in their order.
std::vector<GuardEvidence> evidenceOf(const HostSights& sights);

std::string evidenceAsText(const std::vector<GuardEvidence>& rows);
/// [{"guard", "has", "evidence"}]; "has" is "yes", "no" or "untried".
nlohmann::ordered_json evidenceAsJson(const std::vector<GuardEvidence>& rows);

}  // namespace vfiogate
