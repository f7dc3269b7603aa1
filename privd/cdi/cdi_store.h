#pragma once
// The static CDI specs that plugind declares, kept on disk as it declared them last.

#include "ipc/types/static_spec.h"
#include "privd/cdi/cdi_directory.h"
#include "privd/cdi/cdi_spec.h"
#include "privd/gate/kubelet_gate.h"
#include "privd/scan/sysfs_root.h"

#include <set>
#include <string>
#include <vector>

namespace vfiogate {

/// What became of one declared spec.
struct SpecOutcome {
  enum class Kind : std::uint8_t {
    kInPlace,        ///< on disk, durable, as the hardware is now
    kBadName,        ///< not an extended resource name
    kNotKind,        ///< CDI has no such kind
    kForeignPrefix,  ///< outside --resource-prefix
    kFailed,
  };
  Kind kind = Kind::kInPlace;
  int error = 0;  ///< errno, if it failed
  /// All that were declared, in place only; without nodes: left out, as nothing reaches it now.
  std::vector<SpecDevice> devices;
};

/// Writes what plugind may have written and nothing else: which devices is plugind's choice, names,
/// kinds and nodes are privd's. Every file, whoever made it, whose name isSpecFileName() and which
/// is not in place is unlinked, so that no spec that is out of date names a group that another
/// device has now. A spec of which no device can be reached is no file at all: CDI wants one.
class CdiStore {
public:
  /// Borrows gate and dev. The directory is opened anew for each declaration.
  CdiStore(std::string directory, const KubeletGate& gate, const DevRoot& dev)
      : directory_(std::move(directory)), gate_(gate), dev_(dev) {}

  /// One outcome for each spec. `hardware`: privd's own view, as of now; each node is looked for
  /// once more.
  std::vector<SpecOutcome> declare(const std::vector<StaticSpec>& specs, const Snapshot& hardware);

private:
  SpecOutcome place(const CdiDirectory& directory, const StaticSpec& spec, const Snapshot& hardware,
                    std::set<std::string>& kept);
  std::vector<SpecDevice> devicesOf(const StaticSpec& spec, const Snapshot& hardware) const;
  void unlinkOthers(const CdiDirectory& directory, const std::set<std::string>& kept);

  std::string directory_;
  const KubeletGate& gate_;
  const DevRoot& dev_;
  bool unsynced_ = false;  ///< something changed that may not be durable yet
};

}  // namespace vfiogate
