#pragma once
// Where privd may open files once it is locked down: the table of its Landlock rules.

#include "ipc/base/result.h"
#include "privd/scan/sysfs_root.h"
#include "seccomp/landlock.h"

#include <kj/io.h>

#include <array>
#include <string>
#include <string_view>
#include <vector>

namespace vfiogate {

struct ServeOptions;

/// Which peers a place is allowed for.
enum class PlaceFor { kEveryone, kCdi, kDra };

/// What stands for a place that is not there when privd starts.
enum class IfMissing {
  kNothing,  ///< what comes to be there later is closed, until privd is restarted
  kAbove,    ///< the nearest directory above it that is there, unless --require-landlock
};

/// One row. Options of `privd serve` in <> stand for their values; where one is empty, the row is
/// left out. "<file>/.." is the directory that has the file.
struct PlaceRow {
  std::string_view place;
  std::uint64_t rights;
  std::string_view reason;
  PlaceFor neededBy = PlaceFor::kEveryone;
  IfMissing missing = IfMissing::kNothing;
};

/// Each directory above a PCI function at whose end root complexes begin; all of devices/ where
/// there is no function yet.
inline constexpr std::string_view kRootComplexes = "<sysfs>/devices/**/pciDDDD:BB";

inline constexpr std::uint64_t kReplaceFiles = kWriteFile | kMakeFile | kRemoveFile;
inline constexpr std::uint64_t kReplaceSockets = kMakeSocket | kRemoveFile;

inline constexpr std::array kPrivdPlaces{
    PlaceRow{"<sysfs>", kReadFile | kReadDirectory, "attributes and lists of the hardware"},
    PlaceRow{kRootComplexes, kWriteFile, "driver_override, of functions that come later, too"},
    PlaceRow{"<sysfs>/bus/pci/drivers", kWriteFile, "bind and unbind of each driver"},
    PlaceRow{"<sysfs>/bus/pci/drivers_probe", kWriteFile, "a driver is looked for"},
    PlaceRow{"<dev>", kReadFile, "a disk, exclusively, before its controller leaves its driver"},
    PlaceRow{"<dev>/vfio", kReadFile | kWriteFile, "a group's node, held while its devices leave"},
    PlaceRow{"/proc/swaps", kReadFile, "disks in use"},
    PlaceRow{"<host-mountinfo>/..", kReadFile, "disks in use"},
    PlaceRow{"<host-route>/..", kReadFile, "network interfaces in use"},
    PlaceRow{"<kubelet-dir>/device-plugins", kReadFile | kReplaceSockets,
             "the kubelet's checkpoint; the device plugin's sockets", PlaceFor::kEveryone,
             IfMissing::kAbove},
    PlaceRow{"<kubelet-dir>/plugins_registry", kReplaceSockets, "the DRA driver's registration",
             PlaceFor::kDra, IfMissing::kAbove},
    PlaceRow{"<kubelet-dir>/plugins/<dra-driver>", kReplaceSockets, "the DRA driver's service",
             PlaceFor::kDra},
    PlaceRow{"<kubelet-dir>/plugins/<dra-driver>/dra-device-metadata",
             kReadFile | kReadDirectory | kReplaceFiles, "metadata files of claims",
             PlaceFor::kDra},
    PlaceRow{"<cdi-dir>", kReadFile | kReadDirectory | kReplaceFiles, "CDI specs", PlaceFor::kCdi},
    PlaceRow{"<plugind-config>/..", kReadFile, "plugind's configuration", PlaceFor::kEveryone,
             IfMissing::kAbove},
    PlaceRow{"<state-dir>/plugind.lock", kReadFile | kWriteFile | kTruncate, "plugind's lease"},
    PlaceRow{"<state-dir>/bindings", kReplaceFiles, "former drivers"},
    PlaceRow{"<state-dir>/holds", kReplaceFiles, "operators' exclusions"},
    PlaceRow{"<state-dir>/declared", kReplaceFiles, "operators' declarations"},
    PlaceRow{"<record-dir>", kReadFile | kReplaceFiles | kTruncate,
             "what is allocated, and to whom"},
    PlaceRow{"<audit-log>/..", kReadFile | kReplaceFiles | kTruncate,
             "the audit log, when it rotates"},
};

/// The table as these options make it, one path a place. `above`: paths of the table that are not
/// there and for which a directory above stands, with more than was meant.
struct AllowedPlaces {
  struct Place {
    std::string path;
    std::uint64_t rights;
  };
  std::vector<Place> places;
  std::vector<std::string> above;
};
AllowedPlaces allowedPlaces(const ServeOptions& options, const SysfsRoot& sysfs);

/// Of a privd that is confined; keep it. An entry of /proc that nobody holds is another file when
/// it is looked up again, for which no rule stands.
struct PlacesHeld {
  int abi = 0;  ///< of Landlock; 0: not to be had, and nothing is confined
  std::vector<kj::AutoCloseFd> descriptors;
};

/// Confines this process and says on the log how. Failure: it must not go on.
Result<PlacesHeld, StepFailure> confineTo(const ServeOptions& options, const SysfsRoot& sysfs);

}  // namespace vfiogate
