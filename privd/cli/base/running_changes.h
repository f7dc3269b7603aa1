#pragma once
// Which groups' drivers are being changed now, in whatever process, for people.

#include "ipc/types/snapshot.h"

#include <set>
#include <string>

namespace vfiogate {

/// Devices whose file in the record of allocations is locked (AllocationFiles::lock): whoever
/// changes drivers of a group has the files of all its members locked to the end.
struct RunningChanges {
  std::set<Bdf> devices;  ///< all of them
  std::set<Bdf> stuck;    ///< of these, where the kernel has kept a write for Writer::kPatience,
                          ///< and one that makes virtual functions kPatiencePerVf more for each
  std::string problem;    ///< why they are not known, in words; empty: they are

  friend bool operator==(const RunningChanges&, const RunningChanges&) = default;
};

/// Looks at the files below `recordDir` and at the processes below `procRoot`; locks nothing. Sees
/// what the caller may look into: all processes, as root in the host's PID namespace. A lock that
/// is gone 50 ms later is no change: whoever assesses a group has it for a moment. An empty
/// `recordDir`, or one that is missing, has none.
RunningChanges readRunningChanges(const std::string& recordDir, const std::string& procRoot);

/// Notes in each group whether a change of it runs, or hangs: of its members one is enough, since
/// a group is changed as a whole.
void markChanges(Snapshot& snapshot, const RunningChanges& changes);

}  // namespace vfiogate
