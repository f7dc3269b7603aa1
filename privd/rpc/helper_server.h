#pragma once
// The privilege line's server side: what plugind can reach.

#include "ipc/schema/helper.capnp.h"
#include "ipc/types/discovery_counts.h"
#include "privd/bind/allocation_binder.h"
#include "privd/gate/rights.h"
#include "privd/scan/pci_scan.h"
#include "privd/scan/snapshot_source.h"
#include "privd/state/allocation_files.h"

#include <kj/async.h>
#include <kj/timer.h>

namespace vfiogate {

/// What one connection after the other is served from. Outlives them.
struct Node {
  SnapshotSource& source;
  const DiscoveryCounts& counts;
  const SysfsRoot& sysfs;
  const DevRoot& dev;
  const AllocationFiles& allocations;
  kj::Maybe<AllocationBinder&> binder;  ///< null: plugind has not the right
  kj::Timer& timer;
};

/// How one connection is served.
struct Service {
  Rights rights;
  /// Ends the connection; the text says why and is for the log. May be called more than once.
  kj::Function<void(kj::StringPtr why)> hangUp;
};

/// The first capability of a connection: version exchange, then a session with these rights. A
/// peer that has not entered within 10 s, or whose observer keeps a call for 10 s, is hung up on.
schema::Handshake::Client makeHandshake(Node& node, Service service);

}  // namespace vfiogate
