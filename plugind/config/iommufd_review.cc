#include "plugind/config/settings_review.h"

#include <algorithm>
#include <initializer_list>
#include <string>
#include <string_view>

#include "plugind/core/refusal.h"

namespace vfiogate {
namespace {

/// From the root on, each part a name, all of it printable.
bool isHostPath(const std::string& path) {
  constexpr std::size_t kLongest = 255;
  const bool plain =
      std::ranges::all_of(path, [](char character) { return character > ' ' && character < 0x7f; });
  if (!plain || path.size() > kLongest || !path.starts_with('/') || path.ends_with('/')) {
    return false;
  }
  const std::string parts = path + "/";
  return std::ranges::none_of(
      std::initializer_list<std::string_view>{"//", "/./", "/../"},
      [&parts](auto part) { return parts.find(part) != std::string::npos; });
}

/// Why the socket can be of no use to who is allocated a device of the entry; empty: it can.
std::string_view whyUseless(const ResourceSettings& entry) {
  const AllocationSettings& allocation = entry.allocation;
  if (!servesPlugin(allocation)) {
    return "not with serve: dra: a claim has no mount, so its pod gets no socket; serve: plugin or "
           "both";
  }
  if (allocation.backend == Backend::kLegacy || allocation.backend == Backend::kNoIommu) {
    return "not with this backend, which never hands over /dev/iommu: auto, iommufd or both";
  }
  if (allocation.kata) return "not with kata: true: KubeVirt's launcher alone looks for it";
  if (selectsMediated(entry.select)) {
    return "not with mdev: KubeVirt gives mediated devices no context of /dev/iommu";
  }
  return {};
}

}  // namespace

void reviewIommufdSockets(const Settings& settings, Findings& findings) {
  for (std::size_t i = 0; i < settings.resources.size(); ++i) {
    const ResourceSettings& entry = settings.resources[i];
    if (entry.allocation.iommufdSocket.empty()) continue;
    const std::string path = "resources[" + std::to_string(i) + "].iommufdSocket";
    if (!isHostPath(entry.allocation.iommufdSocket)) {
      findings.refuse(path, "found " + quoteForeign(entry.allocation.iommufdSocket) +
                                "; write where privd-iommufd listens on the host, an absolute path "
                                "such as /run/vfiogate/iommufd/iommufd.sock");
    }
    if (const auto why = whyUseless(entry); !why.empty()) {
      findings.refuse(path, std::string(why));
    } else if (entry.allocation.backend == Backend::kAuto) {
      findings.warn(path,
                    "only for a device whose group has no node: set prefer: iommufd, or "
                    "backend: iommufd, to hand over devices' own nodes");
    }
  }
}

}  // namespace vfiogate
