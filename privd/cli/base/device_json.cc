#include "privd/cli/base/device_json.h"

#include "ipc/base/hex.h"
#include "privd/cli/base/device_state.h"

#include <algorithm>
#include <set>

namespace vfiogate {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kListVersion = 1;

Json hexOrNull(const auto& value, int digits) {
  return value ? Json(hexDigits(*value, digits)) : Json(nullptr);
}

Json textOrNull(const std::string& text) {
  return text.empty() ? Json(nullptr) : Json(jsonText(text));
}

Json numberOrNull(const auto& value) {
  return value ? Json(*value) : Json(nullptr);
}

const char* roleName(SriovRole role) {
  switch (role) {
    case SriovRole::kNone:
      return "none";
    case SriovRole::kPhysicalFunction:
      return "physical";
    case SriovRole::kVirtualFunction:
      return "virtual";
  }
  return "none";
}

Json sriovJson(const PciDevice& device) {
  return {{"role", roleName(device.sriov)},
          {"physicalFunction",
           device.physicalFunction ? Json(device.physicalFunction->str()) : Json(nullptr)},
          {"virtualFunctions", device.virtualFunctions}};
}

/// Null: its driver makes no vGPU of it.
Json vgpuJson(const PciDevice& device) {
  if (!device.vgpuType) return nullptr;
  return {{"type", *device.vgpuType}, {"typeName", textOrNull(device.vgpuTypeName)}};
}

Json problemsJson(const std::vector<AttributeProblem>& found) {
  Json problems = Json::array();
  for (const AttributeProblem& problem : found) {
    problems.push_back({{"attribute", problem.attribute}, {"why", jsonText(problem.why)}});
  }
  return problems;
}

Json namesOf(const auto& ids) {
  Json names = Json::array();
  for (const auto& id : ids) names.push_back(id.str());
  return names;
}

Json groupJson(const IommuGroup& group) {
  return {{"id", group.id.number()},
          {"type", textOrNull(group.type)},
          {"use", nameOf(group.use)},
          {"noIommu", group.noIommu},
          {"groupNode", group.groupNode},
          {"members", namesOf(group.members)},
          {"mediated", namesOf(group.mediated)}};
}

}  // namespace

Json mediatedJson(const Snapshot& snapshot, const MediatedDevice& device) {
  return {{"uuid", device.uuid.str()},
          {"type", textOrNull(device.type)},
          {"typeName", textOrNull(device.typeName)},
          {"parent", device.parent ? Json(device.parent->str()) : Json(nullptr)},
          {"driver", textOrNull(device.driver)},
          {"numaNode", numberOrNull(device.numaNode)},
          {"iommuGroup", device.group ? Json(device.group->number()) : Json(nullptr)},
          {"state", stateOf(snapshot, device)},
          {"reason", textOrNull(whyOf(snapshot, device))},
          {"problems", problemsJson(device.problems)}};
}

std::string jsonText(const std::string& text) {
  std::string clean;
  for (const char c : text) clean += (c >= 0x20 && c <= 0x7e) ? c : '?';
  return clean;
}

Json deviceJson(const NodeView& view, const PciDevice& device) {
  const Viability seen = viability(view.snapshot, device.address);
  return {{"address", device.address.str()},
          {"vendor", hexOrNull(device.vendor, 4)},
          {"device", hexOrNull(device.device, 4)},
          {"subsystemVendor", hexOrNull(device.subvendor, 4)},
          {"subsystemDevice", hexOrNull(device.subdevice, 4)},
          {"class", hexOrNull(device.classCode, 6)},
          {"revision", hexOrNull(device.revision, 2)},
          {"className", jsonText(view.className(device))},
          {"name", jsonText(view.deviceName(device))},
          {"driver", textOrNull(device.driver)},
          {"vfio", offersVfio(device)},
          {"numaNode", numberOrNull(device.numaNode)},
          {"iommuGroup", device.group ? Json(device.group->number()) : Json(nullptr)},
          {"state", stateOf(view.snapshot, device)},
          {"reason", textOrNull(whyOf(view.snapshot, device))},
          {"culprit", seen.culprit ? Json(seen.culprit->str()) : Json(nullptr)},
          {"enableCount", numberOrNull(device.enableCount)},
          {"bootVga", device.bootVga},
          {"sriov", sriovJson(device)},
          {"resetMethods", textOrNull(device.resetMethods)},
          {"pcieRoot", textOrNull(device.pcieRoot)},
          {"rootPort", device.rootPort ? Json(device.rootPort->str()) : Json(nullptr)},
          {"slot", textOrNull(device.slot)},
          {"mediated", namesOf(device.mediated)},
          {"vgpu", vgpuJson(device)},
          {"problems", problemsJson(device.problems)}};
}

Json listJson(const NodeView& view, const ListFilter& filter) {
  Json devices = Json::array();
  std::set<Bdf> listed;
  for (const auto& [address, device] : view.snapshot.devices) {
    if (!passes(filter, view.snapshot, device)) continue;
    devices.push_back(deviceJson(view, device));
    listed.insert(address);
  }
  Json mediated = Json::array();
  std::set<Uuid> parts;
  for (const auto& [uuid, device] : view.snapshot.mediated) {
    if (!passes(filter, view.snapshot, device)) continue;
    mediated.push_back(mediatedJson(view.snapshot, device));
    parts.insert(uuid);
  }
  const bool all = listed.size() == view.snapshot.devices.size() &&
                   parts.size() == view.snapshot.mediated.size();
  const auto isListed = [&listed](const Bdf& member) { return listed.contains(member); };
  const auto isPart = [&parts](const Uuid& part) { return parts.contains(part); };
  Json groups = Json::array();
  for (const auto& [id, group] : view.snapshot.groups) {
    if (all || std::ranges::any_of(group.members, isListed) ||
        std::ranges::any_of(group.mediated, isPart)) {
      groups.push_back(groupJson(group));
    }
  }
  Json egm = Json::array();
  for (const EgmRegion& region : view.snapshot.egm) {
    if (!all && std::ranges::none_of(region.gpus, isListed)) continue;
    egm.push_back({{"number", region.number}, {"gpus", namesOf(region.gpus)}});
  }
  return {{"version", kListVersion},
          {"groups", groups},
          {"devices", devices},
          {"mediated", mediated},
          {"egm", egm}};
}

}  // namespace vfiogate
