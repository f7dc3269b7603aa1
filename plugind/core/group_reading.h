#pragma once
// What privd answered when asked for the present state of one group.

#include <cstdint>

#include "ipc/types/iommu_group.h"
#include "ipc/types/snapshot.h"

namespace vfiogate {

struct GroupReading {
  enum class Answer : std::uint8_t {
    kSeen,      ///< `seen` says what there is
    kVanished,  ///< no such group, or it lost the members that it was made for
    kFailed,    ///< privd could not say
    kTimedOut,  ///< no answer within the deadline
    kPrivdAway,
  };
  /// What opening the group showed, where that was allowed and possible.
  enum class Probe : std::uint8_t { kNone, kIdle, kOpen };
  Answer answer = Answer::kTimedOut;
  Snapshot seen;  ///< the group and its members only
  Probe probe = Probe::kNone;
  bool onFile = true;  ///< privd has what it was last told of the group's allocation on file

  friend bool operator==(const GroupReading&, const GroupReading&) = default;
};

}  // namespace vfiogate
