#pragma once
// The services of one connection: the gate to the kubelet, the operators' control service, and
// answers about specs that plugind asked for.

#include "ipc/codec/descriptor_channel.h"
#include "ipc/schema/helper.capnp.h"
#include "privd/bind/binding_service.h"
#include "privd/cdi/cdi_store.h"
#include "privd/cdi/claim_store.h"
#include "privd/gate/kubelet_gate.h"

#include <kj/async.h>
#include <kj/function.h>
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

/// The control service of the connection whose other end is `who`. Borrows `service`. An
/// order that makes no sense goes to `hangUp`, with why.
schema::BindControl::Client makeBindControl(BindingService& service, AuditPeer who,
                                            kj::Function<void(kj::StringPtr why)> hangUp);

void encode(const std::vector<SpecOutcome>& outcomes, schema::SpecsAnswer::Builder to);

/// Asks `store` and tells what it says. What makes no sense is answered with `bad`.
void writeClaimSpec(ClaimStore& store, schema::ClaimSpec::Reader spec, const Snapshot& hardware,
                    schema::ClaimSpecAnswer::Builder to);
void unlinkClaimSpec(ClaimStore& store, capnp::Text::Reader uid, schema::UnlinkAnswer::Builder to);
void tellClaimSpecs(const ClaimStore& store, schema::ClaimSpecsAnswer::Builder to);

}  // namespace vfiogate
