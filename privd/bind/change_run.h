#pragma once
// Carries a plan out, and takes it back where a write fails.

#include "privd/bind/plan/plan.h"
#include "privd/scan/sysfs_root.h"
#include "privd/state/allocation_records.h"
#include "privd/writer/writer.h"

#include <kj/async.h>
#include <kj/vector.h>

namespace vfiogate {

struct RunResult {
  ChangeOutcome outcome = ChangeOutcome::kDone;  ///< kDone, kFailed, kLeftChanged or kStuck
  std::string error;
  std::vector<std::string> differences;
  std::vector<std::string> remarks;  ///< "0000:01:00.0: has no driver now"
  std::set<Bdf> stuck;               ///< devices in whose write the kernel is
};

/// Writes one step after the other and reads the driver back after each. After a failure what was
/// written is undone in reverse; of a device in which a write is stuck nothing more is touched.
/// Borrows all but the plan for as long as it runs; `locks` are those of its devices, which go with
/// each write. `groupNodes` are held open until nothing more leaves VFIO.
kj::Promise<RunResult> carryOut(const SysfsRoot& sysfs, Writer& writer, const DeviceLocks& locks,
                                Plan plan, kj::Vector<kj::AutoCloseFd> groupNodes);

/// For people: "written", or why not.
std::string wordsOf(const WriteOutcome& outcome);

/// The driver to which the function is bound now; empty: none.
std::string driverOf(const SysfsRoot& sysfs, const Bdf& address);

}  // namespace vfiogate
