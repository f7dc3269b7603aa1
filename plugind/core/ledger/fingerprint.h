#pragma once
// What was lent, in words that the kubelet keeps: by it a pod's devices are known again.

#include "plugind/core/ledger/hardware_facts.h"

#include <set>
#include <string>
#include <vector>

namespace vfiogate {

/// The annotation under which the kubelet keeps the fingerprint (ledger.md 9).
inline constexpr const char* kLentAnnotation = "vfiogate.dev/lent";

/// Address, PCI ids, group, node number and boot of each device: "0000:65:00.0 10de:2684 g31 v3
/// b<boot>;...". An absent device says "gone".
std::string fingerprintOf(const HardwareFacts& hardware, const std::set<Bdf>& ids);
/// The same of devices that were lent through `nodes`: the number of a node that is not among them
/// is left out ("v-"), as nobody was given it.
std::string lentFingerprintOf(const HardwareFacts& hardware, const std::set<Bdf>& ids,
                              const std::vector<std::string>& nodes);
/// What of it is about these devices.
std::string fingerprintPart(const std::string& fingerprint, const std::set<Bdf>& ids);

/// The fingerprint of devices that were lent by CDI name: each says so after its boot. What was
/// handed over decides what a container finds when it starts again.
std::string byName(const std::string& fingerprint);
/// True if all of its devices say so.
bool isByName(const std::string& fingerprint);

/// How the hardware differs from when it was lent, as far as it was handed out.
enum class Sameness : std::uint8_t { kSame, kOtherNumbers, kOtherHardware };
Sameness compareFingerprints(const std::string& lent, const std::string& present);

}  // namespace vfiogate
