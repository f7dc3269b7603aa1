#pragma once
// Which units a set's id means, by the configuration and by what was allocated under it.

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "plugind/core/ledger/state/ledger_state.h"

namespace vfiogate {

/// The units of a set of this resource as it is configured, or else what somebody has under that
/// id. Empty: nothing is known of it.
std::set<UnitId> unitsOfSet(const LedgerState& state, const ResourceName& resource,
                            const std::string& id);
/// By unit, the set among `ids` by which a pod has it: first what is recorded, since the
/// configuration may have changed. Ids that are no set's are passed over.
std::map<UnitId, std::string> setsNamed(const LedgerState& state, const ResourceName& resource,
                                        const std::set<std::string>& ids);

/// The NUMA node on which all of the units are. Null: they are on several, or one's is not known.
std::optional<std::uint32_t> commonNumaNode(const Snapshot& snapshot,
                                            const std::set<UnitId>& units);

/// The same of an entry of the kubelet's memory. Where the answer was recorded with it
/// (RecordedDevices::allocated), that says what was allocated, whatever the configuration has
/// become.
std::map<UnitId, std::string> setsIn(const LedgerState& state, const RecordedDevices& entry);

/// The same of a claim, of which only the devices are known: by the sets that are whole among them.
std::map<UnitId, std::string> setsAmong(const LedgerState& state, const ResourceName& resource,
                                        const std::set<UnitId>& ids);

/// A unit in the groups of two of these sets: who asks for both at once cannot have them. Null: no
/// two of the ids have a group in common.
std::optional<UnitId> sharedUnit(const LedgerState& state, const ResourceName& resource,
                                 const std::vector<std::string>& ids);

}  // namespace vfiogate
