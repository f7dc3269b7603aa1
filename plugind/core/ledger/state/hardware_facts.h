#pragma once
// What privd knows of the hardware at one moment, and whether a group could be allocated (V).

#include <map>
#include <optional>
#include <set>
#include <string>

#include "plugind/core/resource/device_nodes.h"
#include "plugind/core/resource/static_specs.h"

namespace vfiogate {

/// The hardware, with what only privd can judge.
struct HardwareFacts {
  Snapshot snapshot;
  std::set<IommuGroupId> bindable;               ///< a bind would pass the guards now
  std::map<IommuGroupId, std::string> barred{};  ///< why one would not: GroupBinding
  std::set<IommuGroupId> binding;                ///< a change of its drivers runs
  std::set<IommuGroupId> stuck;                  ///< a write for it has not come back
  std::set<IommuGroupId> excluded;               ///< `privd hold`
  std::set<IommuGroupId> boundForAllocation;  ///< bound by us for an allocation, by privd's record
  bool mayBind = true;                        ///< privd gives us the right to
  bool binderAway = false;                    ///< why it may not
  std::string bootId;
  std::map<Bdf, std::string> serials{};  ///< serial numbers, of the functions that told theirs
  StaticSpecs specs;                     ///< as privd wrote them for this snapshot

  friend bool operator==(const HardwareFacts&, const HardwareFacts&) = default;
};

/// What privd's snapshot says; boot id and specs are the caller's. Without the right to bind
/// nothing is bindable.
HardwareFacts factsOf(const Snapshot& snapshot, bool mayBind);

/// privd's words of a bind that it refused, "0000:01:00.0: users: module ...", as the bar that the
/// guard `users` is where privd tells of it beforehand. Null: they name no guard.
std::optional<Bar> guardThatRefused(const std::string& why);

/// V of ledger.md 2. Nothing that happens to it removes a holder.
enum class Readiness : std::uint8_t { kReady, kBindable, kBinding, kBad, kGone };

struct GroupReadiness {
  Readiness readiness = Readiness::kReady;
  Bar bar;  ///< why, unless ready

  friend bool operator==(const GroupReadiness&, const GroupReadiness&) = default;
};

/// The holder of the devices that are judged.
enum class HeldBy : std::uint8_t { kNobody, kWhoAsks };

/// V of the devices `ids` of one group. Bindable only where the resource binds on allocate. An
/// operator's exclusion is for those who do not have them yet.
GroupReadiness judgeHardware(const HardwareFacts& facts, const std::set<UnitId>& ids,
                             const AllocationSettings& allocation, HeldBy held = HeldBy::kNobody);
/// The same for the device plugin: what is ready is bad where the static spec that the resource
/// needs does not name it.
GroupReadiness judgeReadiness(const HardwareFacts& facts, const ResourceName& resource,
                              const std::set<UnitId>& ids, const AllocationSettings& allocation);

/// True if a request may be tried: ready, or bindable.
bool allocatable(const GroupReadiness& readiness);

}  // namespace vfiogate
