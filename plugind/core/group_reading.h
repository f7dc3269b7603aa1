#pragma once
// What privd answered when asked for the present state of one group.

#include <cstdint>
#include <string>

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
  enum class Probe : std::uint8_t {
    kNone,  ///< the group was not to be opened, or its use is shown
    kIdle,
    kOpen,
    kCannot,  ///< `noProbe` says why
  };
  Answer answer = Answer::kTimedOut;
  Snapshot seen;  ///< the group and its members only
  Probe probe = Probe::kNone;
  bool onFile = true;     ///< privd has what it was last told of the group's allocation on file
  std::string noProbe{};  ///< for people

  friend bool operator==(const GroupReading&, const GroupReading&) = default;
};

/// Nothing shows whether somebody has a group of this use open: a probe may tell.
constexpr bool isSilent(GroupUse use) {
  return use == GroupUse::kBlind || use == GroupUse::kUnknown;
}

/// What is shown, and a probe at its word where nothing is (ledger.md 3).
constexpr GroupUse useWith(GroupUse shown, GroupReading::Probe probe) {
  if (!isSilent(shown)) return shown;
  if (probe == GroupReading::Probe::kIdle) return GroupUse::kIdle;
  return probe == GroupReading::Probe::kOpen ? GroupUse::kOpen : shown;
}

}  // namespace vfiogate
