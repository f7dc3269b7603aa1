#include "ipc/codec/encode_snapshot.h"

namespace vfiogate {
namespace {

template <typename T, typename U>
T numberOr(const std::optional<U>& value, T absent) {
  return value ? static_cast<T>(*value) : absent;
}

kj::StringPtr textOf(const std::string& text) {
  return {text.c_str(), text.size()};
}

schema::SriovRole roleOf(SriovRole role) {
  switch (role) {
    case SriovRole::kNone:
      return schema::SriovRole::NONE;
    case SriovRole::kPhysicalFunction:
      return schema::SriovRole::PHYSICAL_FUNCTION;
    case SriovRole::kVirtualFunction:
      return schema::SriovRole::VIRTUAL_FUNCTION;
  }
  return schema::SriovRole::NONE;
}

schema::Use useOf(GroupUse use) {
  switch (use) {
    case GroupUse::kIdle:
      return schema::Use::IDLE;
    case GroupUse::kOpen:
      return schema::Use::OPEN;
    case GroupUse::kBlind:
      return schema::Use::BLIND;
    case GroupUse::kUnknown:
      return schema::Use::UNKNOWN;
  }
  return schema::Use::UNKNOWN;
}

void encodeAddress(const Bdf& address, schema::Address::Builder to) {
  to.setSegment(address.segment());
  to.setBus(address.bus());
  to.setDevice(address.device());
  to.setFunction(address.function());
}

void encodeNumbers(const PciDevice& device, schema::Device::Builder to) {
  to.setVendor(numberOr<std::int32_t>(device.vendor, -1));
  to.setDevice(numberOr<std::int32_t>(device.device, -1));
  to.setSubvendor(numberOr<std::int32_t>(device.subvendor, -1));
  to.setSubdevice(numberOr<std::int32_t>(device.subdevice, -1));
  to.setClassCode(numberOr<std::int32_t>(device.classCode, -1));
  to.setRevision(numberOr<std::int16_t>(device.revision, -1));
  to.setHeaderType(numberOr<std::int16_t>(device.headerType, -1));
  to.setVfioDev(numberOr<std::int64_t>(device.vfioDev, -1));
  to.setNumaNode(numberOr<std::int32_t>(device.numaNode, -1));
  to.setGroup(device.group ? std::int64_t{device.group->number()} : -1);
  to.setVirtualFunctions(device.virtualFunctions);
  to.setEnableCount(numberOr<std::int64_t>(device.enableCount, -1));
}

void encodeLists(const PciDevice& device, schema::Device::Builder to) {
  auto mediated = to.initMediated(static_cast<unsigned>(device.mediated.size()));
  for (unsigned i = 0; i < mediated.size(); ++i) {
    mediated[i].setUuid(textOf(device.mediated[i].uuid));
    mediated[i].setType(textOf(device.mediated[i].type));
  }
  auto problems = to.initProblems(static_cast<unsigned>(device.problems.size()));
  for (unsigned i = 0; i < problems.size(); ++i) {
    problems[i].setAttribute(textOf(device.problems[i].attribute));
    problems[i].setWhy(textOf(device.problems[i].why));
  }
}

void encodeDevice(const PciDevice& device, schema::Device::Builder to) {
  encodeAddress(device.address, to.initAddress());
  encodeNumbers(device, to);
  encodeLists(device, to);
  to.setAnswers(device.answers);
  to.setDriver(textOf(device.driver));
  to.setCdevNode(device.cdevNode);
  to.setModalias(textOf(device.modalias));
  to.setBootVga(device.bootVga);
  to.setSriov(roleOf(device.sriov));
  if (device.physicalFunction) {
    encodeAddress(*device.physicalFunction, to.initPhysicalFunction());
  }
  to.setResetMethods(textOf(device.resetMethods));
  to.setPcieRoot(textOf(device.pcieRoot));
}

void encodeGroup(const IommuGroup& group, schema::Group::Builder to, const ControlFor& controlFor) {
  to.setId(group.id.number());
  to.setType(textOf(group.type));
  to.setNoIommu(group.noIommu);
  to.setGroupNode(group.groupNode);
  to.setUse(useOf(group.use));
  auto members = to.initMembers(static_cast<unsigned>(group.members.size()));
  for (unsigned i = 0; i < members.size(); ++i) encodeAddress(group.members[i], members[i]);
  if (!controlFor) return;
  KJ_IF_MAYBE (control, controlFor(group)) to.setControl(*control);
}

}  // namespace

void encodeSnapshot(const Snapshot& snapshot, schema::Snapshot::Builder to,
                    const ControlFor& controlFor) {
  to.setControlNode(snapshot.controlNode);
  to.setIommufdNode(snapshot.iommufdNode);
  auto devices = to.initDevices(static_cast<unsigned>(snapshot.devices.size()));
  unsigned at = 0;
  for (const auto& [address, device] : snapshot.devices) encodeDevice(device, devices[at++]);
  auto groups = to.initGroups(static_cast<unsigned>(snapshot.groups.size()));
  at = 0;
  for (const auto& [id, group] : snapshot.groups) encodeGroup(group, groups[at++], controlFor);
}

void encodeDelta(std::uint64_t base, const SnapshotDelta& delta, schema::Delta::Builder to,
                 const ControlFor& controlFor) {
  to.setBase(base);
  to.setControlNode(delta.controlNode);
  to.setIommufdNode(delta.iommufdNode);
  auto changed = to.initChanged(static_cast<unsigned>(delta.changed.size()));
  for (unsigned i = 0; i < changed.size(); ++i) encodeDevice(delta.changed[i], changed[i]);
  auto removed = to.initRemoved(static_cast<unsigned>(delta.removed.size()));
  for (unsigned i = 0; i < removed.size(); ++i) encodeAddress(delta.removed[i], removed[i]);
  auto groups = to.initChangedGroups(static_cast<unsigned>(delta.changedGroups.size()));
  for (unsigned i = 0; i < groups.size(); ++i) {
    encodeGroup(delta.changedGroups[i], groups[i], controlFor);
  }
  auto gone = to.initRemovedGroups(static_cast<unsigned>(delta.removedGroups.size()));
  for (unsigned i = 0; i < gone.size(); ++i) gone.set(i, delta.removedGroups[i].number());
}

}  // namespace vfiogate
