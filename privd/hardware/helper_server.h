#pragma once
// The privilege line's server side: what plugind can reach.

#include "ipc/schema/helper.capnp.h"
#include "ipc/types/discovery_counts.h"
#include "privd/scan/pci_scan.h"
#include "privd/scan/snapshot_source.h"

#include <kj/async.h>
#include <kj/timer.h>

namespace vfiogate {

/// What one connection after the other is served from. Outlives them.
struct Node {
  SnapshotSource& source;
  const DiscoveryCounts& counts;
  const SysfsRoot& sysfs;
  const DevRoot& dev;
  kj::Timer& timer;
};

/// Ends a connection; the text says why and is for the log. May be called more than once.
using HangUp = kj::Function<void(kj::StringPtr why)>;

/// The first capability of a connection: version exchange, then a session. A peer that has not
/// entered within 10 s, or whose observer keeps a call for 10 s, is hung up on.
schema::Handshake::Client makeHandshake(Node& node, HangUp hangUp);

}  // namespace vfiogate
