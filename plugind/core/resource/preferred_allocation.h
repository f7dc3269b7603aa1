#pragma once
// Which of the devices that the kubelet may pick a container is best served with.

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "ipc/types/iommu_group.h"

namespace vfiogate {

/// GetPreferredAllocation's question (kubelet-contract.md 1.10), in the kubelet's words.
struct PreferredRequest {
  std::set<std::string> available;    ///< includes `mustInclude`
  std::set<std::string> mustInclude;  ///< decided already
  std::size_t size = 0;               ///< of the answer, `mustInclude` counted
  /// Devices of other resources that the same container may have been given just now.
  std::set<std::string> beside{};
};

/// What counts for the choice of one device. An id that nothing is known of is taken last.
struct Candidate {
  std::optional<std::uint32_t> numaNode;
  std::optional<std::uint32_t> egmRegion{};  ///< of a GPU: its extended memory goes along whole
  std::optional<IommuGroupId> group;
  bool doubtful = false;   ///< its group may be another pod's still: only if there is no other
  std::string root{};      ///< PCIe root complex; empty: not known
  bool besideNic = false;  ///< what its resource wants to be aligned with is free below that root
  std::set<std::string> excludes{};  ///< of a set: those that share a group with it

  friend bool operator==(const Candidate&, const Candidate&) = default;
};

/// Exactly `size` ids, or all there are if that is less, of sets those that exclude no other of
/// them: as few NUMA nodes, and regions of GPUs' extended memory, as possible, beginning with those
/// of `mustInclude` and `beside`; on a node as few PCIe roots as possible, beginning in the same
/// way, then with those that have what is to be beside; whole groups before parts of groups, as
/// what is left of a group serves nobody. A hint: the kubelet may ask for any other set. The same
/// question gets the same answer.
std::vector<std::string> preferredDevices(const PreferredRequest& request,
                                          const std::map<std::string, Candidate>& candidates);

}  // namespace vfiogate
