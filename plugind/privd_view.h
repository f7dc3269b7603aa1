#pragma once
// What the state loop asks of privd, and what privd tells it.

#include "ipc/types/snapshot.h"
#include "plugind/core/group_look.h"
#include "plugind/core/kubelet_memory.h"

#include <kj/async.h>

#include <optional>

namespace vfiogate {

/// Told on the loop's thread.
class PrivdEvents {
public:
  /// The hardware as it is now, whole. The first one after privdWent() ends the outage.
  virtual void hardwareSeen(const Snapshot& snapshot) = 0;
  /// KubeletSockets answers from now on.
  virtual void socketsAvailable() = 0;
  /// Which kubelet process there is; absent: none. Told when privd comes and whenever it looked
  /// again. `appeared`: it made its registration socket since the last telling.
  virtual void kubeletSeen(const std::optional<KubeletIdentity>& kubelet, bool appeared) = 0;
  /// The kubelet made its PodResources socket.
  virtual void podResourcesAppeared() = 0;
  /// There is, or may be, a new version of the kubelet's checkpoint.
  virtual void checkpointReplaced() = 0;
  /// Nothing can be checked until hardwareSeen(). Comes before any look answers kPrivdAway.
  virtual void privdWent() = 0;

protected:
  ~PrivdEvents() = default;
};

class GroupEyes {
public:
  /// Asks privd to read the group from sysfs now. Never fails; has no deadline of its own.
  virtual kj::Promise<GroupLook> look(IommuGroupId group) = 0;

protected:
  ~GroupEyes() = default;
};

}  // namespace vfiogate
