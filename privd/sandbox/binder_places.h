#pragma once
// Where the binder may open files once it is locked down: the table of its Landlock rules.

#include "privd/options/program_options.h"
#include "privd/sandbox/place_table.h"
#include "privd/scan/sysfs_root.h"

#include <array>

namespace vfiogate {

/// Each directory above a PCI function at whose end root complexes begin; all of devices/ where
/// there is no function yet.
inline constexpr std::string_view kRootComplexes = "<sysfs>/devices/**/pciDDDD:BB";

inline constexpr std::array kBinderPlaces{
    PlaceRow{"<sysfs>", kReadFile | kReadDirectory, "attributes and lists of the hardware"},
    PlaceRow{kRootComplexes, kWriteFile,
             "driver_override and sriov_numvfs, of functions that come later, too"},
    PlaceRow{"<sysfs>/bus/pci/drivers", kWriteFile, "bind and unbind of each driver"},
    PlaceRow{"<sysfs>/bus/pci/drivers_probe", kWriteFile, "a driver is looked for"},
    PlaceRow{"<dev>", kReadFile, "a disk, exclusively, before its controller leaves its driver"},
    PlaceRow{"<dev>/vfio", kReadFile | kWriteFile,
             "a group's node, held while its devices leave, or opened to see who has it"},
    PlaceRow{"/proc/swaps", kReadFile, "disks in use"},
    PlaceRow{"<host-mountinfo>/..", kReadFile, "disks in use"},
    PlaceRow{"<host-route>/..", kReadFile, "network interfaces in use"},
    PlaceRow{"<state-dir>/plugind.lock", kReadFile, "whether a plugind has the node"},
    PlaceRow{"<state-dir>/bindings", kReadFile | kReadDirectory | kReplaceFiles, "former drivers"},
    PlaceRow{"<state-dir>/holds", kReadFile | kReadDirectory | kReplaceFiles,
             "operators' exclusions"},
    PlaceRow{"<state-dir>/declared", kReadFile | kReadDirectory | kReplaceFiles,
             "operators' declarations"},
    PlaceRow{"<record-dir>", kReadFile | kReadDirectory | kWriteFile | kMakeFile,
             "what is allocated, locked while drivers change"},
    PlaceRow{"<audit-log>/..", kReadFile | kReplaceFiles | kTruncate,
             "the audit log, when it rotates"},
};

/// Those of the table, with what these options name.
AllowedPlaces allowedPlaces(const BinderOptions& options, const SysfsRoot& sysfs);

}  // namespace vfiogate
