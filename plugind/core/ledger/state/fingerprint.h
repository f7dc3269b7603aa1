#pragma once
// What was allocated, in words that the kubelet keeps: by it a pod's devices are known again.

#include "plugind/core/ledger/state/hardware_facts.h"

#include <set>
#include <string>
#include <vector>

namespace vfiogate {

/// The annotation under which the kubelet keeps the fingerprint (ledger.md 9).
inline constexpr const char* kAllocatedAnnotation = "vfiogate.dev/allocated";
/// The annotation with the references of the grant, "7f3a,7f3b": by it a version of the checkpoint
/// is known to be from after the grant. Times do not tell: files are stamped by a coarser clock.
inline constexpr const char* kRefAnnotation = "vfiogate.dev/ref";

/// Address, PCI ids, what else tells hardware apart, group, node number and boot of each device:
/// "0000:65:00.0 10de:2684 sub=10de:167c class=030000 rev=a1 g31 v3 b<boot>;...". Of a mediated
/// device "<UUID> mdev type=nvidia-711 parent=0000:11:00.0 g60 v- b<boot>;". What the device
/// does not say is left out; an absent device says "gone". A serial number, "sn=MT2112X01234", is
/// known only where something is selected by it: its capability lies beyond the 64 bytes of
/// configuration space that privd, without capabilities, may read, and the binder asks the card.
std::string fingerprintOf(const HardwareFacts& hardware, const std::set<UnitId>& ids);
/// The same of devices that were allocated through `nodes`: the number of a node that is not among
/// them is left out ("v-"), as nobody was given it.
std::string allocatedFingerprintOf(const HardwareFacts& hardware, const std::set<UnitId>& ids,
                                   const std::vector<std::string>& nodes);
/// The same of what went along with the devices that were asked for, each marked so after its boot.
std::string wentAlong(const std::string& fingerprint);
/// What of it went along.
std::string alongIn(const std::string& fingerprint);
/// Without what went along and is gone, unless its own node was given: that may be another's.
std::string withoutLost(const std::string& allocated, const HardwareFacts& present);
/// What of it is about these devices.
std::string fingerprintPart(const std::string& fingerprint, const std::set<UnitId>& ids);

/// The devices that it is about.
std::set<UnitId> devicesIn(const std::string& fingerprint);
/// The same without what went along.
std::set<UnitId> askedIn(const std::string& fingerprint);
/// "10de:2684 sub=10de:167c class=030000 rev=a1" of one of them, for people; "gone" if it is.
std::string hardwareText(const std::string& fingerprint, const UnitId& device);

/// The fingerprint of devices that were allocated by CDI name: each says so after its boot. What
/// was handed over decides what a container finds when it starts again.
std::string byName(const std::string& fingerprint);
/// True if all of its devices say so.
bool isByName(const std::string& fingerprint);

/// How the hardware differs from when it was allocated, as far as it was handed out. Of what tells
/// hardware apart only that is compared which both have.
enum class Sameness : std::uint8_t { kSame, kOtherNumbers, kOtherHardware };
Sameness compareFingerprints(const std::string& allocated, const std::string& present);
/// The first device of `allocated` that is other hardware in `present`, not merely gone. Null: none
/// is.
std::optional<UnitId> firstOther(const std::string& allocated, const std::string& present);

}  // namespace vfiogate
