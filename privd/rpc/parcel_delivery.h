#pragma once
// Hands a descriptor to the peer, with patience for what passes by itself.

#include "ipc/codec/descriptor_channel.h"

#include <kj/async.h>
#include <kj/timer.h>

namespace vfiogate {

/// False: the peer does not get it, and it is logged why. Borrows `channel` and `timer`.
kj::Promise<bool> deliver(DescriptorSender& channel, kj::Timer& timer, DescriptorParcel parcel);

}  // namespace vfiogate
