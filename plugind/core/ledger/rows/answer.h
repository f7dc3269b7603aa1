#pragma once
// What a granted call hands over.

#include "plugind/core/ledger/state/ledger_state.h"

#include <set>

namespace vfiogate {

/// The hardware of one group as privd saw it, with what only the whole snapshot says.
HardwareFacts rereadOf(const HardwareFacts& hardware, const Snapshot& seen);
/// Another group of the same call with it.
void addGroup(HardwareFacts& facts, const Snapshot& seen);

/// The hardware of all taken groups of a call together.
HardwareFacts allReread(const LedgerState& state, const Call& call);

/// The response to a call whose groups were all seen. Error: what bars one of them.
Result<AllocationResponse, Bar> answerOf(const LedgerState& state, const Call& call);

/// What keeps `ids` from being handed over by name: the resource's static spec does not have the
/// nodes of each as `hardware` has them. Null: nothing.
std::optional<Bar> barFromSpecs(const HardwareFacts& hardware, const ResourceCatalog& catalog,
                                const ResourceName& resource, const std::set<Bdf>& ids);

}  // namespace vfiogate
