#include "ipc/codec/snapshot_codec.h"

#include "ipc/codec/bounded_lists.h"
#include "ipc/codec/limits.h"

#include <limits>
#include <optional>
#include <type_traits>

namespace vfiogate {
namespace {

/// The schema's form of a number that may be absent. Absent, too, where it does not fit.
template <typename Wire, typename Value>
Wire orAbsent(const std::optional<Value>& value) {
  static_assert(std::is_signed_v<Wire> && sizeof(Wire) >= sizeof(Value));
  constexpr auto kLargest = static_cast<std::uint64_t>(std::numeric_limits<Wire>::max());
  if (!value || *value > kLargest) return Wire{-1};
  return static_cast<Wire>(*value);
}

schema::SriovRole encodeRole(SriovRole role) {
  switch (role) {
    case SriovRole::kNone:
      return schema::SriovRole::NONE;
    case SriovRole::kPhysicalFunction:
      return schema::SriovRole::PHYSICAL_FUNCTION;
    case SriovRole::kVirtualFunction:
      return schema::SriovRole::VIRTUAL_FUNCTION;
  }
  KJ_UNREACHABLE;
}

schema::Use encodeUse(GroupUse use) {
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
  KJ_UNREACHABLE;
}

void encodeIdentity(const PciDevice& device, schema::Device::Builder out) {
  encodeAddress(device.address, out.initAddress());
  out.setVendor(orAbsent<std::int32_t>(device.vendor));
  out.setDevice(orAbsent<std::int32_t>(device.device));
  out.setSubvendor(orAbsent<std::int32_t>(device.subvendor));
  out.setSubdevice(orAbsent<std::int32_t>(device.subdevice));
  out.setClassCode(orAbsent<std::int32_t>(device.classCode));
  out.setRevision(orAbsent<std::int16_t>(device.revision));
  out.setHeaderType(orAbsent<std::int16_t>(device.headerType));
  out.setModalias(cut(device.modalias));
}

void encodeState(const PciDevice& device, schema::Device::Builder out) {
  out.setAnswers(device.answers);
  out.setDriver(cut(device.driver));
  out.setVfioDev(orAbsent<std::int64_t>(device.vfioDev));
  out.setVfioGroup(device.vfioGroup);
  out.setCdevNode(device.cdevNode);
  out.setNumaNode(orAbsent<std::int32_t>(device.numaNode));
  if (device.group) out.setGroup(device.group->number());
  out.setBootVga(device.bootVga);
  out.setSriov(encodeRole(device.sriov));
  if (device.physicalFunction) {
    encodeAddress(*device.physicalFunction, out.initPhysicalFunction());
  }
  out.setVirtualFunctions(device.virtualFunctions);
  out.setResetMethods(cut(device.resetMethods));
  out.setEnableCount(orAbsent<std::int64_t>(device.enableCount));
  out.setPcieRoot(cut(device.pcieRoot));
  if (device.rootPort) encodeAddress(*device.rootPort, out.initRootPort());
  out.setSlot(cut(device.slot));
  out.setVgpuType(orAbsent<std::int64_t>(device.vgpuType));
  out.setVgpuTypeName(cut(device.vgpuTypeName));
}

/// The UUIDs, in a list that `init` makes.
template <typename Init>
void encodeUuids(const std::vector<Uuid>& uuids, Init init) {
  const capnp::uint size = bounded(uuids.size(), kMaxMediated);
  if (size == 0) return;
  auto list = init(size);
  for (capnp::uint i = 0; i < size; ++i) list.set(i, uuids[i].str());
}

void encodeProblem(const AttributeProblem& problem, schema::Problem::Builder out) {
  out.setAttribute(cut(problem.attribute));
  out.setWhy(cut(problem.why));
}

void encodeMediated(const MediatedDevice& mediated, schema::Mediated::Builder out) {
  out.setUuid(mediated.uuid.str());
  out.setType(cut(mediated.type));
  out.setTypeName(cut(mediated.typeName));
  if (mediated.parent) encodeAddress(*mediated.parent, out.initParent());
  out.setNumaNode(orAbsent<std::int32_t>(mediated.numaNode));
  out.setDriver(cut(mediated.driver));
  if (mediated.group) out.setGroup(mediated.group->number());
  out.setVfioDev(orAbsent<std::int64_t>(mediated.vfioDev));
  out.setCdevNode(mediated.cdevNode);
  encodeList(
      mediated.problems, kMaxProblems, [&](capnp::uint size) { return out.initProblems(size); },
      encodeProblem);
}

void encodeDevice(const PciDevice& device, schema::Device::Builder out) {
  encodeIdentity(device, out);
  encodeState(device, out);
  encodeUuids(device.mediated, [&](capnp::uint size) { return out.initMediated(size); });
  encodeList(
      device.problems, kMaxProblems, [&](capnp::uint size) { return out.initProblems(size); },
      encodeProblem);
}

void encodeGroup(const IommuGroup& group, schema::Group::Builder out, ControlOf& controlOf) {
  out.setId(group.id.number());
  out.setType(cut(group.type));
  out.setNoIommu(group.noIommu);
  out.setGroupNode(group.groupNode);
  out.setUse(encodeUse(group.use));
  encodeList(
      group.members, kMaxFunctions, [&](capnp::uint size) { return out.initMembers(size); },
      encodeAddress);
  encodeUuids(group.mediated, [&](capnp::uint size) { return out.initMediated(size); });
  KJ_IF_MAYBE (control, controlOf(group)) {
    out.setControl(kj::mv(*control));
  }
}

void encodeEgm(const EgmRegion& region, schema::EgmRegion::Builder out) {
  out.setNumber(region.number);
  encodeList(
      region.gpus, kMaxFunctions, [&](capnp::uint size) { return out.initGpus(size); },
      encodeAddress);
}

void encodeDelta(const UpdateDelta& delta, schema::Delta::Builder out, ControlOf& controlOf) {
  const SnapshotDelta& changes = delta.changes;
  out.setBase(delta.base);
  encodeList(
      changes.changed, kMaxFunctions, [&](capnp::uint size) { return out.initChanged(size); },
      encodeDevice);
  encodeList(
      changes.removed, kMaxFunctions, [&](capnp::uint size) { return out.initRemoved(size); },
      encodeAddress);
  encodeList(
      changes.changedGroups, kMaxFunctions,
      [&](capnp::uint size) { return out.initChangedGroups(size); },
      [&](const IommuGroup& group, schema::Group::Builder item) {
        encodeGroup(group, item, controlOf);
      });
  const capnp::uint removedGroups = bounded(changes.removedGroups.size(), kMaxFunctions);
  auto removed = out.initRemovedGroups(removedGroups);
  for (capnp::uint i = 0; i < removedGroups; ++i) {
    removed.set(i, changes.removedGroups[i].number());
  }
  encodeList(
      changes.changedMediated, kMaxMediated,
      [&](capnp::uint size) { return out.initChangedMediated(size); }, encodeMediated);
  encodeUuids(changes.removedMediated,
              [&](capnp::uint size) { return out.initRemovedMediated(size); });
  encodeList(
      changes.egm, kMaxEgmRegions, [&](capnp::uint size) { return out.initEgm(size); }, encodeEgm);
  out.setControlNode(changes.controlNode);
  out.setIommufdNode(changes.iommufdNode);
  out.setVfioPci(changes.vfioPci);
}

}  // namespace

kj::Maybe<schema::GroupControl::Client> noControl(const IommuGroup& /*group*/) {
  return nullptr;
}

void encode(const Snapshot& snapshot, schema::Snapshot::Builder out, ControlOf controlOf) {
  encodeList(
      snapshot.devices, kMaxFunctions, [&](capnp::uint size) { return out.initDevices(size); },
      encodeDevice);
  encodeList(
      snapshot.groups, kMaxFunctions, [&](capnp::uint size) { return out.initGroups(size); },
      [&](const IommuGroup& group, schema::Group::Builder item) {
        encodeGroup(group, item, controlOf);
      });
  encodeList(
      snapshot.mediated, kMaxMediated, [&](capnp::uint size) { return out.initMediated(size); },
      encodeMediated);
  encodeList(
      snapshot.egm, kMaxEgmRegions, [&](capnp::uint size) { return out.initEgm(size); }, encodeEgm);
  out.setControlNode(snapshot.controlNode);
  out.setIommufdNode(snapshot.iommufdNode);
  out.setVfioPci(snapshot.vfioPci);
}

void encode(const Update& update, schema::Update::Builder out, ControlOf controlOf) {
  out.setEpoch(update.epoch);
  out.setGeneration(update.generation);
  if (const auto* full = std::get_if<Snapshot>(&update.content)) {
    encode(*full, out.initFull(), controlOf);
  } else {
    encodeDelta(std::get<UpdateDelta>(update.content), out.initDelta(), controlOf);
  }
}

}  // namespace vfiogate
