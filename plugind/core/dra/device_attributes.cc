#include "plugind/core/dra/device_attributes.h"

#include "ipc/base/hex.h"
#include "ipc/types/claim_spec.h"
#include "ipc/types/vfio_nodes.h"
#include "plugind/core/device_sets.h"

namespace vfiogate {
namespace {

using Attributes = std::map<std::string, AttributeValue>;

constexpr std::size_t kLongestText = 64;  // of the API
constexpr std::string_view kSetDevice = "set-";

void addText(Attributes& attributes, const char* name, std::string text) {
  if (text.empty()) return;
  if (text.size() > kLongestText) text.resize(kLongestText);
  attributes.emplace(name, std::move(text));
}

/// A resource's name may be longer than an attribute: then it is what follows the domain, which
/// never is. A part of a domain would be another one.
std::string resourceText(const ResourceName& resource) {
  const std::string& text = resource.str();
  return text.size() <= kLongestText ? text : text.substr(text.find('/') + 1);
}

std::string roleText(SriovRole role) {
  switch (role) {
    case SriovRole::kPhysicalFunction:
      return "pf";
    case SriovRole::kVirtualFunction:
      return "vf";
    case SriovRole::kNone:
      break;
  }
  return "none";
}

/// Which of the two ways there are to it now; empty: none, as while it is on its host driver.
std::string waysText(const Snapshot& snapshot, const VfioPlace& place) {
  const bool legacy = waysTo(snapshot, place, Backend::kLegacy).legacy;
  const bool iommufd = waysTo(snapshot, place, Backend::kIommufd).iommufd;
  if (legacy && iommufd) return "both";
  return legacy ? "legacy" : iommufd ? "iommufd" : "";
}

std::string hexOf(std::optional<std::uint32_t> number, int digits) {
  return number ? hexDigits(*number, digits) : "";
}

/// Of a mediated device: its type, and whose part it is.
void addPart(Attributes& attributes, const MediatedDevice& device) {
  addText(attributes, "mdevType", device.type);
  addText(attributes, "mdevTypeName", device.typeName);
  addText(attributes, "driver", device.driver);
  if (!device.parent) return;
  addText(attributes, "parent", device.parent->str());
}

}  // namespace

Attributes attributesOf(const Snapshot& snapshot, const UnitId& address,
                        const ResourceName& resource) {
  Attributes attributes;
  const bool mediated = address.uuid() != nullptr;
  addText(attributes, mediated ? "mdevUUID" : "resource.kubernetes.io/pciBusID", address.str());
  addText(attributes, "resource", resourceText(resource));
  addText(attributes, "vfio", waysText(snapshot, placeOf(snapshot, address)));
  if (const auto group = groupOf(snapshot, address)) {
    attributes.emplace("group", std::int64_t{group->number()});
  }
  if (const auto node = numaNodeOf(snapshot, address)) {
    attributes.emplace("numaNode", std::int64_t{*node});
  }
  addText(attributes, "resource.kubernetes.io/pcieRoot", pcieRootOf(snapshot, address));
  if (const MediatedDevice* part = mediatedOf(snapshot, address)) addPart(attributes, *part);
  const PciDevice* found = functionOf(snapshot, address);
  if (found == nullptr) return attributes;
  const PciDevice& device = *found;
  addText(attributes, "vendor", hexOf(device.vendor, 4));
  addText(attributes, "device", hexOf(device.device, 4));
  addText(attributes, "class", hexOf(device.classCode, 6));
  addText(attributes, "driver", device.driver);
  addText(attributes, "slot", device.slot);
  if (device.rootPort) addText(attributes, "rootPort", device.rootPort->str());
  addText(attributes, "sriov", roleText(device.sriov));
  if (device.vgpuType.value_or(0) != 0) {
    addText(attributes, "vgpuType", std::to_string(*device.vgpuType));
    addText(attributes, "vgpuTypeName", device.vgpuTypeName);
  }
  if (device.physicalFunction) {
    addText(attributes, "physicalFunction", device.physicalFunction->str());
  }
  return attributes;
}

Attributes attributesOfSet(const Snapshot& snapshot, const std::string& id,
                           const std::set<UnitId>& units, const ResourceName& resource) {
  std::optional<Attributes> common;
  for (const UnitId& unit : units) {
    const Attributes each = attributesOf(snapshot, unit, resource);
    if (!common) common = each;
    std::erase_if(*common, [&each](const auto& attribute) {
      const auto same = each.find(attribute.first);
      return same == each.end() || same->second != attribute.second;
    });
  }
  Attributes attributes = common.value_or(Attributes{});
  addText(attributes, "set", setNameIn(id).value_or(""));
  attributes.emplace("setSize", std::int64_t(units.size()));
  return attributes;
}

std::string setDeviceName(const std::string& id) {
  return std::string(kSetDevice) + setNameIn(id).value_or("");
}

std::optional<std::string> setInDeviceName(std::string_view name) {
  if (!name.starts_with(kSetDevice)) return std::nullopt;
  const std::string id = setId(std::string(name.substr(kSetDevice.size())));
  return isSetId(id) ? std::optional(id) : std::nullopt;
}

std::string deviceName(const UnitId& address) {
  return addressWith('-', address);
}

std::optional<UnitId> deviceAddress(std::string_view name) {
  if (const auto uuid = Uuid::parse(name)) return *uuid;
  constexpr std::size_t kAfterSegment = 8;  // "-17-00-0"
  if (name.size() <= kAfterSegment) return std::nullopt;
  std::string text(name);
  const std::size_t segment = text.size() - kAfterSegment;
  text[segment] = text[segment + 3] = ':';
  text[segment + 6] = '.';
  const auto address = UnitId::parse(text);
  if (!address || deviceName(*address) != name) return std::nullopt;
  return *address;
}

}  // namespace vfiogate
