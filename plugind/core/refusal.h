#pragma once
// How a request is refused, in words that may end in the status of somebody else's pod.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ipc/base/kube_names.h"
#include "ipc/types/iommu_group.h"
#include "ipc/types/unit_id.h"

namespace vfiogate {

/// Names device, group, state, since and a reference; never a holder's pod (ledger.md 2).
struct Refusal {
  std::string reason;  ///< the reason code of ledger.md 7, such as "not-viable:host-driver"
  std::string text;    ///< "0000:65:00.0, group 31: allocated since 2026-11-23T10:42:07Z,
                       ///< group-allocated, ref=7f3a"

  friend bool operator==(const Refusal&, const Refusal&) = default;
};

/// The device that a refusal is about. Group absent: it has none, or is gone.
struct RefusedDevice {
  UnitId address;
  std::optional<IommuGroupId> group;
};

/// `refs`: of the holders that stand in the way.
Refusal refuse(const RefusedDevice& device, const std::string& state, const std::string& reason,
               const std::vector<std::string>& refs = {});

/// Row 1: privd is away, or no snapshot came yet. `ids` as the kubelet sent them.
Refusal refusePrivdAway(const std::vector<std::string>& ids);

/// The same of a claim.
Refusal refuseClaimUnchecked();

/// Row 3. `id` as the kubelet sent it.
Refusal refuseNotShown(std::string_view id, const ResourceName& resource);

/// Text from outside, for a message: quoted, cut to 64 characters, what is not printable as '?'.
std::string quoteForeign(std::string_view text);

}  // namespace vfiogate
