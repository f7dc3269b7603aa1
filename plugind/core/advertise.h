#pragma once
// What every resource shows the kubelet, made from hardware, catalogue and ledger.

#include <map>
#include <set>
#include <utility>

#include "plugind/core/frame.h"
#include "plugind/core/group_ledger.h"
#include "plugind/core/resource_catalog.h"

namespace vfiogate {

/// The frames of all resources, and which devices stand for their groups in them.
struct Advertisement {
  std::map<ResourceName, Frame> frames;
  std::set<std::pair<ResourceName, Bdf>> representatives;

  friend bool operator==(const Advertisement&, const Advertisement&) = default;
};

/// Whether anything new may be lent.
enum class Lending : std::uint8_t {
  kOpen,
  kClosed,  ///< privd is away, and `grace` is over or a refusal ended it
};

/// The frames that follow `before` (ledger.md 8, groupUnit one). A resource or id that was shown
/// once stays in the frames while the process lives, Unhealthy if need be: the kubelet may be
/// allocating it (kubelet-contract.md T5). Sending is needed only where a frame differs.
Advertisement advertise(const Scene& scene, const GroupLedger& ledger, const Advertisement& before,
                        Lending lending);

}  // namespace vfiogate
