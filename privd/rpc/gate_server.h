#pragma once
// One connection's gate to the kubelet.

#include "ipc/codec/descriptor_channel.h"
#include "ipc/schema/helper.capnp.h"
#include "privd/gate/kubelet_gate.h"

#include <kj/async.h>
#include <kj/refcount.h>
#include <kj/timer.h>

namespace vfiogate {

void encode(const FileIdentity& identity, schema::FileIdentity::Builder to);

/// Unlinks the DRA driver's registration socket when no plugind serves it: a dead one
/// would cost the kubelet 10 s a try.
void withdrawDra(const KubeletGate& gate);

/// Serves `gate` to the peer at the other end of `channel`. Both outlive the returned capability;
/// `keepsAlive` is dropped with it.
schema::KubeletGate::Client makeGate(KubeletGate& gate, DescriptorSender& channel, kj::Timer& timer,
                                     kj::Own<kj::Refcounted> keepsAlive);

/// False: the peer does not get it, and it is logged why. Borrows `channel` and `timer`.
kj::Promise<bool> deliver(DescriptorSender& channel, kj::Timer& timer, DescriptorParcel parcel);

}  // namespace vfiogate
