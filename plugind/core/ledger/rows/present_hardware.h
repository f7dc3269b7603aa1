#pragma once
// What is at a device's address now, by a reread of privd's made for the call: events may be lost
// (I9), and an address is not a device.

#include "plugind/core/ledger/state/ledger_state.h"

namespace vfiogate {

/// Asks privd about the groups of `ids`, which the call's party holds already. True: it has
/// answered for all of them. False: the call waits.
bool isChecked(Turn& turn, CallId id, const std::set<Bdf>& ids);
/// privd answered for a group of such a call. True: for the last one.
bool noteCheck(Call& call, IommuGroupId group, const GroupReading& reading);
/// The hardware that privd saw for such a call, with what only the whole snapshot says.
HardwareFacts checkedHardware(const LedgerState& state, const Call& call);

/// Row 18 for a reread that was not made. Null: it was.
std::optional<Refusal> refuseUnseen(const RefusedDevice& device,
                                    const std::optional<GroupReading>& reading);
/// The same for each group of a call that was checked.
std::optional<Refusal> refuseUnchecked(const LedgerState& state, const Call& call);
/// Other hardware is at an address than the fingerprint says. `was`: what had happened to that,
/// such as "allocated". Null: none is; what is gone is not judged here.
std::optional<Refusal> refuseOther(const HardwareFacts& present, const std::string& fingerprint,
                                   const std::string& was);

}  // namespace vfiogate
