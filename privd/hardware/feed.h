#pragma once
// Tells one observer what the hardware looks like.

#include "ipc/schema/helper.capnp.h"
#include "privd/hardware/group_controls.h"
#include "privd/scan/snapshot_source.h"

#include <kj/async.h>
#include <kj/function.h>
#include <kj/timer.h>

#include <memory>

namespace vfiogate {

/// One update in flight: the whole at first, then the difference to what the observer took last. A
/// slow observer gets fewer, larger updates. One that fails, or keeps an update for 10 s, is
/// reported once through `failed`, and gets nothing more.
class Feed {
public:
  struct Place {
    SnapshotSource& source;
    kj::Timer& timer;
    GroupControls& controls;
  };

  Feed(Place place, schema::Observer::Client observer, kj::Function<void(kj::StringPtr)> failed);

private:
  kj::Promise<void> pump();
  kj::Promise<void> send(const SnapshotSource::Current& current);

  Place place_;
  schema::Observer::Client observer_;
  std::shared_ptr<const Snapshot> taken_;
  std::uint64_t takenGeneration_ = 0;
  kj::Promise<void> task_;  // last: it uses all of the above
};

}  // namespace vfiogate
