#include "plugind/core/allocate_offer.h"

#include <algorithm>

#include "plugind/core/group_members.h"

namespace vfiogate {
namespace {

bool wasShown(const Frame& frame, const std::string& id) {
  return std::ranges::find(frame.devices, id, &FrameDevice::id) != frame.devices.end();
}

bool belongs(const ResourceDevices& resource, const Bdf& address) {
  return std::ranges::binary_search(resource.devices, address);
}

/// The offer of `offers` in which the device at `address` belongs; a new one if there is none.
GroupOffer& offerFor(std::vector<GroupOffer>& offers, const Snapshot& snapshot,
                     const Bdf& address) {
  const std::optional<IommuGroupId> group = snapshot.devices.at(address).group;
  const auto found = std::ranges::find_if(offers, [&group](const GroupOffer& offer) {
    return group.has_value() && offer.group == group;
  });
  if (found != offers.end()) return *found;
  offers.push_back({group, {}, groupMembers(snapshot, address), std::nullopt});
  return offers.back();
}

}  // namespace

Result<std::vector<GroupOffer>, Refusal> splitByGroup(const AllocateRequest& request,
                                                      const Scene& scene) {
  const auto resource = scene.catalog.resources.find(request.resource);
  if (request.ids.empty() || resource == scene.catalog.resources.end()) {
    return Failure{
        refuseNotShown(request.ids.empty() ? "" : request.ids.front(), request.resource)};
  }
  std::vector<GroupOffer> offers;
  for (const std::string& id : request.ids) {
    const auto address = Bdf::parse(id);
    if (!address || !belongs(resource->second, *address) || !wasShown(request.shown, id)) {
      return Failure{refuseNotShown(id, request.resource)};
    }
    offerFor(offers, scene.snapshot, *address).ids.insert(*address);
  }
  for (GroupOffer& offer : offers) {
    const auto nodes = deviceNodes(scene.snapshot, offer.ids, resource->second.lending.backend);
    if (!nodes) offer.bar = nodes.error();
  }
  return offers;
}

}  // namespace vfiogate
