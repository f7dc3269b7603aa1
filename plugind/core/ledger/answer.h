#pragma once
// What a granted call hands over, and the fingerprint by which it is known again.

#include "plugind/core/ledger/ledger_state.h"

#include <set>
#include <string>
#include <vector>

namespace vfiogate {

/// The annotation under which the kubelet keeps the fingerprint (ledger.md 9).
inline constexpr const char* kLentAnnotation = "vfiogate.dev/lent";

/// The hardware of one taken group as privd saw it, with what only the whole snapshot says.
HardwareFacts lookedAt(const HardwareFacts& hardware, const Take& take);

/// The response to a call whose groups were all seen. Error: what bars one of them.
Result<AllocationResponse, Bar> answerOf(const LedgerState& state, const Call& call);

/// What keeps `ids` from being handed over by name: the resource's static spec does not have the
/// nodes of each as `hardware` has them. Null: nothing.
std::optional<Bar> barFromSpecs(const HardwareFacts& hardware, const ResourceCatalog& catalog,
                                const ResourceName& resource, const std::set<Bdf>& ids);

/// Address, PCI ids, group, node number and boot of each device: "0000:65:00.0 10de:2684 g31 v3
/// b<boot>;...". An absent device says "gone".
std::string fingerprintOf(const HardwareFacts& hardware, const std::set<Bdf>& ids);
/// The same of devices that were lent through `nodes`: the number of a node that is not among them
/// is left out ("v-"), as nobody was given it.
std::string lentFingerprintOf(const HardwareFacts& hardware, const std::set<Bdf>& ids,
                              const std::vector<std::string>& nodes);
/// What of it is about these devices.
std::string fingerprintPart(const std::string& fingerprint, const std::set<Bdf>& ids);

/// How the hardware differs from when it was lent, as far as it was handed out.
enum class Sameness : std::uint8_t { kSame, kOtherNumbers, kOtherHardware };
Sameness compareFingerprints(const std::string& lent, const std::string& present);

}  // namespace vfiogate
