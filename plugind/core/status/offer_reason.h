#pragma once
// Why the kubelet sees a device as it does, in one word and in a sentence.

#include "plugind/core/status/status.h"

namespace vfiogate {

/// `reason`: "offered"; otherwise why not: "represented" by another of its group, a code of
/// viability.h, "flapping", "group-" and the state of its group, "privd-away", "not-adopted",
/// "resting". `text`: for people; empty: offered. All of `device` but these two is filled in.
Bar offerReason(const LedgerState& state, const ResourceName& resource, const DeviceStatus& device);

}  // namespace vfiogate
