#pragma once
// Each code that plugind may say, so that whoever counts them has a zero for those not said yet.
// The pages of docs hold the same lists, and the ledger's property test refuses a code that is in
// none of them.

#include "ipc/types/binding_change.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace vfiogate {

/// Why a PCI function is offered, or is not: docs/reasons.md. With those of privd's guards
/// ("guard-users") and of the states of a group ("group-lingering"); in no order.
std::vector<std::string> knownOfferReasons();

/// Why a request of the kubelet is refused, up to the colon: "not-viable", not
/// "not-viable:host-driver".
std::vector<std::string> knownRefusals();
/// The events of the journal, docs/journal.md: the field `event`, whatever their `reason` is.
std::vector<std::string> knownJournalEvents();

/// What stands before the colon; all of a code without one.
std::string headOf(std::string_view code);

/// The guard of privd's that "guard-users" or "not-viable:guard-users" names, if it names one.
std::optional<Guard> guardIn(std::string_view reason);

}  // namespace vfiogate
