#pragma once
// The privilege line's server side: what one connection can reach.

#include "ipc/codec/descriptor_channel.h"
#include "ipc/schema/helper.capnp.h"
#include "ipc/types/discovery_counts.h"
#include "privd/bind/allocation_binder.h"
#include "privd/bind/binding_service.h"
#include "privd/cdi/cdi_store.h"
#include "privd/cdi/claim_store.h"
#include "privd/gate/kubelet_gate.h"
#include "privd/gate/plugind_config.h"
#include "privd/gate/plugind_lease.h"
#include "privd/gate/rights.h"
#include "privd/scan/pci_scan.h"
#include "privd/scan/snapshot_source.h"
#include "privd/state/allocation_records.h"

#include <kj/async.h>
#include <kj/timer.h>

namespace vfiogate {

/// What all connections share. Outlives them.
struct Node {
  SnapshotSource& source;
  const DiscoveryCounts& counts;
  const SysfsRoot& sysfs;
  const DevRoot& dev;
  KubeletGate& kubelet;
  AllocationRecords& records;
  PlugindLease& lease;
  kj::Maybe<PlugindConfig&> config;     ///< to be watched for plugind
  kj::Maybe<CdiStore&> cdi;             ///< null: plugind has not the right
  kj::Maybe<AllocationBinder&> binder;  ///< null: plugind has not the right
  kj::Timer& timer;
  kj::Maybe<BindingService&> bindingService = nullptr;  ///< null: no bindings are changed by hand
  kj::Maybe<ClaimStore&> claims = nullptr;              ///< null: plugind has not the right
};

/// How one connection is served.
struct Service {
  Rights rights;
  /// Where descriptors go; without it there is no gate to the kubelet.
  kj::Maybe<DescriptorSender> channel;
  /// Ends the connection; the text says why and is for the log. May be called more than once.
  kj::Function<void(kj::StringPtr why)> hangUp;
  AuditPeer who;  ///< the other end, as the kernel says
};

/// The first capability of a connection: version exchange, then a session with these rights. A
/// peer that has not entered within 10 s, or whose observer keeps a call for 10 s, is hung up on.
schema::Handshake::Client makeHandshake(Node& node, Service service);

}  // namespace vfiogate
