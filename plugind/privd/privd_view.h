#pragma once
// What the state loop asks of privd, and what privd tells it.

#include "ipc/base/result.h"
#include "ipc/types/claim_spec.h"
#include "ipc/types/discovery_counts.h"
#include "ipc/types/snapshot.h"
#include "plugind/core/bind_outcome.h"
#include "plugind/core/group_reading.h"
#include "plugind/core/kubelet_memory.h"
#include "plugind/core/recorded_allocations.h"
#include "plugind/core/resource/static_specs.h"
#include "plugind/core/status/status.h"
#include "plugind/privd/binding_view.h"

#include <kj/async.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace vfiogate {

/// Told on the loop's thread.
class PrivdEvents {
public:
  /// The hardware as it is now, whole. The first one after privdWent() ends the outage.
  virtual void hardwareSeen(const Snapshot& snapshot) = 0;
  /// privd's record of allocations; with each connection, before the hardware.
  virtual void allocationsTold(const RecordedAllocations& recorded) = 0;
  /// Whether privd has groups bound for us; with each connection, before the hardware, and when it
  /// is otherwise.
  virtual void rightToBindTold(RightToBind right) = 0;
  /// KubeletSockets answers from now on.
  virtual void socketsAvailable() = 0;
  /// Which kubelet runs: with each connection of privd's, and when it makes its registration socket
  /// anew. Another identity than the last one is another kubelet.
  virtual void kubeletAppeared(const KubeletIdentity& kubelet) = 0;
  /// The PodResources socket is there, or was made anew; with each connection, too.
  virtual void podResourcesAppeared() = 0;
  /// There is a version of the checkpoint that may be new; with each connection, too. Several may
  /// have come since the last time.
  virtual void checkpointReplaced() = 0;
  /// The configuration file's text: with each connection, and when it is another one.
  virtual void configurationPosted(const std::string& text) = 0;
  /// Nothing can be checked until hardwareSeen(). Comes before any reread answers kPrivdAway.
  virtual void privdWent() = 0;

protected:
  ~PrivdEvents() = default;
};

/// What became of a word to privd.
enum class Told : std::uint8_t {
  kDone,
  kPrivdAway,
  kFailed,  ///< there is no such group, or privd does not say why
};

/// Tells privd which groups are allocated or being allocated, and to whom: nobody rebinds them by
/// hand, and privd keeps a record for the plugind after this one. Never fails; has no deadline of
/// its own; may be said again. Whoever is told of privd coming back allocates again what is
/// allocated. A reread of the group follows what was told of it, and tells whether that is on file.
class GroupAllocations {
public:
  /// `note`: to whom (allocation_note.h).
  virtual kj::Promise<Told> allocate(IommuGroupId group, const std::string& note) = 0;
  /// Also for a group that left meanwhile, if it was allocated over this connection.
  virtual kj::Promise<Told> release(IommuGroupId group) = 0;
  /// All that is allocated is known and told: privd releases what the plugind before us allocated.
  virtual kj::Promise<Told> adopted() = 0;

protected:
  ~GroupAllocations() = default;
};

/// privd's answer to a declaration of specs.
struct SpecAnswer {
  StaticSpecs specs;     ///< of each that was declared
  bool passing = false;  ///< what kept it from writing one may pass: declare again later
};

class SpecStore {
public:
  /// The complete set of static CDI specs from now on. Resolves when they are on disk, or could not
  /// be put there. Absent: privd is away. Never fails.
  virtual kj::Promise<std::optional<SpecAnswer>> declareSpecs(
      const std::vector<StaticSpec>& specs) = 0;

protected:
  ~SpecStore() = default;
};

/// Why a claim's spec is not as it was asked for.
struct SpecTrouble {
  std::string why;       ///< for people
  bool passing = false;  ///< it may be otherwise later: privd is away, a disk is full
};

}  // namespace vfiogate
