#pragma once
// What `list` and `show` know: a snapshot taken now, with names for people.

#include "cli/pci_ids.h"
#include "ipc/base/result.h"
#include "ipc/types/snapshot.h"
#include "ipc/types/unit_id.h"

#include <set>
#include <string>

namespace CLI {
class App;
}

namespace vfiogate {

/// Where to look; the options `--sysfs`, `--dev`, `--pci-ids`, `--state-dir`, `--record-dir`.
struct ViewOptions {
  std::string sysfs = "/sys";
  std::string dev = "/dev";
  std::string pciIds = "/usr/share/misc/pci.ids";
  std::string stateDir;   ///< empty: operators excluded nothing there
  std::string recordDir;  ///< empty: nothing is on record, and no change runs
};
void addViewOptions(CLI::App& command, ViewOptions& options);
/// `--record-dir`, of what tells holders and running changes.
void addRecordOption(CLI::App& command, ViewOptions& options);

/// `--rescan SECONDS` of a command that goes on looking: at most a day.
void addRescanOption(CLI::App& command, std::uint32_t& seconds);

struct NodeView {
  Snapshot snapshot;
  PciIds names;
  std::string problem;         ///< why it is not known what operators excluded; empty: it is
  std::string changesProblem;  ///< why it is not known which changes run; empty: it is

  /// Reads it now; needs no rights and no daemon. Error: in words.
  static Result<NodeView, std::string> take(const ViewOptions& options);

  /// "3D controller", or "class 030200" where no name is known.
  std::string className(const PciDevice& device) const;
  /// "NVIDIA Corporation AD102 [GeForce RTX 4090]", or "10de:2684".
  std::string deviceName(const PciDevice& device) const;
  /// "NVIDIA AD102 [GeForce RTX 4090] [10de:2684]", for tables.
  std::string briefName(const PciDevice& device) const;
};

/// Which devices operators excluded (`privd hold`), as is on file.
struct ExcludedDevices {
  std::set<UnitId> devices;
  std::string problem;  ///< why they are not known, in words; empty: they are
};

/// Where privd keeps it (ServeOptions).
inline constexpr const char* kMachinesState = "/var/lib/vfiogate";

/// Reads the names of the files, as StateDirectory::isExcluded() would: one that makes no sense
/// excludes as well. Makes and locks nothing. An empty `stateDir` has none.
ExcludedDevices readExcluded(const std::string& stateDir);

/// Notes in each group whether a member is excluded, as the daemon does in what it tells plugind.
void markExcluded(Snapshot& snapshot, const ExcludedDevices& excluded);

/// Why something is not known that sysfs does not tell; empty: it is known.
struct UnknownStates {
  std::string excluded;  ///< what operators excluded
  std::string changes;   ///< which changes of drivers run
};
/// Notes in each group what operators excluded, and which changes run now.
UnknownStates markStates(Snapshot& snapshot, const std::string& stateDir,
                         const std::string& recordDir, const std::string& procRoot = "/proc");

}  // namespace vfiogate
