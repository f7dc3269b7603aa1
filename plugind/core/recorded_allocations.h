#pragma once
// privd's record of allocations, which outlives plugind and the kubelet's memory.

#include <map>
#include <set>
#include <string>
#include <vector>

#include "ipc/types/iommu_group.h"
#include "ipc/types/unit_id.h"

namespace vfiogate {

/// What plugind tells privd of each group that is allocated or about to be: to whom, in the text of
/// allocation_note.h.
using GroupNotes = std::map<IommuGroupId, std::string>;

/// One group as it was recorded.
struct RecordedGroup {
  std::set<UnitId> members;
  std::string note;  ///< empty: it cannot be read any more

  friend bool operator==(const RecordedGroup&, const RecordedGroup&) = default;
};

/// All that is allocated in this boot and was not released, by whatever plugind.
struct RecordedAllocations {
  std::vector<RecordedGroup> groups;
  bool complete = false;  ///< no allocation of this boot is missing

  friend bool operator==(const RecordedAllocations&, const RecordedAllocations&) = default;
};

}  // namespace vfiogate
