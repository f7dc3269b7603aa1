#include "ipc/codec/snapshot_codec.h"

#include "ipc/codec/checked_fields.h"
#include "ipc/codec/limits.h"

#include <kj/exception.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <set>

namespace vfiogate {
namespace {

constexpr std::uint16_t kMaxId = 0xffff;
constexpr std::uint32_t kMaxClass = 0xff'ffff;
constexpr std::uint8_t kMaxRevision = 0xff;
constexpr std::uint8_t kMaxHeaderType = 0x7f;
constexpr std::uint32_t kMaxU32 = std::numeric_limits<std::uint32_t>::max();

SriovRole decodeRole(schema::SriovRole role, CheckedFields& fields) {
  switch (role) {
    case schema::SriovRole::NONE:
      return SriovRole::kNone;
    case schema::SriovRole::PHYSICAL_FUNCTION:
      return SriovRole::kPhysicalFunction;
    case schema::SriovRole::VIRTUAL_FUNCTION:
      return SriovRole::kVirtualFunction;
  }
  fields.refuse("sriov", "is " + std::to_string(static_cast<unsigned>(role)) + ", not a role");
  return SriovRole::kNone;
}

GroupUse decodeUse(schema::Use use, CheckedFields& fields) {
  switch (use) {
    case schema::Use::IDLE:
      return GroupUse::kIdle;
    case schema::Use::OPEN:
      return GroupUse::kOpen;
    case schema::Use::BLIND:
      return GroupUse::kBlind;
    case schema::Use::UNKNOWN:
      return GroupUse::kUnknown;
  }
  fields.refuse("use", "is " + std::to_string(static_cast<unsigned>(use)) + ", not a use");
  return GroupUse::kUnknown;
}

void decodeIdentity(schema::Device::Reader in, CheckedFields& fields, PciDevice& device) {
  device.vendor = fields.number("vendor", in.getVendor(), kMaxId);
  device.device = fields.number("device", in.getDevice(), kMaxId);
  device.subvendor = fields.number("subvendor", in.getSubvendor(), kMaxId);
  device.subdevice = fields.number("subdevice", in.getSubdevice(), kMaxId);
  device.classCode = fields.number("classCode", in.getClassCode(), kMaxClass);
  device.revision = fields.number("revision", in.getRevision(), kMaxRevision);
  device.headerType = fields.number("headerType", in.getHeaderType(), kMaxHeaderType);
  device.modalias = fields.text("modalias", in.getModalias());
}

void decodeState(schema::Device::Reader in, CheckedFields& fields, PciDevice& device) {
  device.answers = in.getAnswers();
  device.driver = fields.text("driver", in.getDriver());
  device.vfioDev = fields.number("vfioDev", in.getVfioDev(), kMaxU32);
  device.vfioGroup = in.getVfioGroup();
  device.cdevNode = in.getCdevNode();
  device.numaNode = fields.number("numaNode", in.getNumaNode(), kMaxU32);
  if (const auto group = fields.number("group", in.getGroup(), kMaxU32)) {
    device.group = IommuGroupId(*group);
  }
  device.bootVga = in.getBootVga();
  device.sriov = decodeRole(in.getSriov(), fields);
  if (in.hasPhysicalFunction()) {
    device.physicalFunction = fields.address("physicalFunction", in.getPhysicalFunction());
  }
  device.virtualFunctions = in.getVirtualFunctions();
  device.resetMethods = fields.text("resetMethods", in.getResetMethods());
  device.enableCount = fields.number("enableCount", in.getEnableCount(), kMaxU32);
  device.pcieRoot = fields.text("pcieRoot", in.getPcieRoot());
  if (in.hasRootPort()) device.rootPort = fields.address("rootPort", in.getRootPort());
  device.slot = fields.text("slot", in.getSlot());
  device.vgpuType = fields.number("vgpuType", in.getVgpuType(), kMaxU32);
  device.vgpuTypeName = fields.text("vgpuTypeName", in.getVgpuTypeName());
}

/// Puts them where they belong, in any order.
void decodeUuids(std::string_view field, capnp::List<capnp::Text>::Reader in, CheckedFields& fields,
                 std::vector<Uuid>& out) {
  fields.each(field, in, kMaxMediated,
              [&](capnp::Text::Reader item) { out.push_back(fields.uuid("uuid", item)); });
}

/// Addresses, each above the one before it.
std::vector<Bdf> decodeAscending(std::string_view field, capnp::List<schema::Address>::Reader in,
                                 CheckedFields& fields) {
  std::vector<Bdf> all;
  fields.each(field, in, kMaxFunctions, [&](schema::Address::Reader item) {
    const Bdf address = fields.address("address", item);
    if (!all.empty() && all.back() >= address) {
      fields.refuse("address", "is " + address.str() + ", not above the one before it");
    }
    all.push_back(address);
  });
  return all;
}

std::vector<EgmRegion> decodeEgm(capnp::List<schema::EgmRegion>::Reader in, CheckedFields& fields) {
  std::vector<EgmRegion> regions;
  fields.each("egm", in, kMaxEgmRegions, [&](schema::EgmRegion::Reader item) {
    EgmRegion region{item.getNumber(), decodeAscending("gpus", item.getGpus(), fields)};
    if (region.gpus.empty()) fields.refuse("gpus", "is empty");
    if (!regions.empty() && regions.back().number >= region.number) {
      fields.refuse("number",
                    "is " + std::to_string(region.number) + ", not above the one before it");
    }
    regions.push_back(std::move(region));
  });
  return regions;
}

AttributeProblem decodeProblem(schema::Problem::Reader in, CheckedFields& fields) {
  return {fields.text("attribute", in.getAttribute()), fields.text("why", in.getWhy())};
}

MediatedDevice decodeMediated(schema::Mediated::Reader in, CheckedFields& fields) {
  MediatedDevice mediated{.uuid = fields.uuid("uuid", in.getUuid()),
                          .type = fields.text("type", in.getType()),
                          .typeName = fields.text("typeName", in.getTypeName()),
                          .parent = std::nullopt,
                          .numaNode = fields.number("numaNode", in.getNumaNode(), kMaxU32),
                          .driver = fields.text("driver", in.getDriver()),
                          .group = std::nullopt,
                          .vfioDev = fields.number("vfioDev", in.getVfioDev(), kMaxU32),
                          .cdevNode = in.getCdevNode(),
                          .problems = {}};
  if (in.hasParent()) mediated.parent = fields.address("parent", in.getParent());
  if (const auto group = fields.number("group", in.getGroup(), kMaxU32)) {
    mediated.group = IommuGroupId(*group);
  }
  fields.each("problems", in.getProblems(), kMaxProblems, [&](schema::Problem::Reader item) {
    mediated.problems.push_back(decodeProblem(item, fields));
  });
  return mediated;
}

PciDevice decodeDevice(schema::Device::Reader in, CheckedFields& fields) {
  PciDevice device{.address = fields.address("address", in.getAddress())};
  decodeIdentity(in, fields, device);
  decodeState(in, fields, device);
  decodeUuids("mediated", in.getMediated(), fields, device.mediated);
  fields.each("problems", in.getProblems(), kMaxProblems, [&](schema::Problem::Reader item) {
    device.problems.push_back(decodeProblem(item, fields));
  });
  return device;
}

IommuGroup decodeGroup(schema::Group::Reader in, CheckedFields& fields,
                       GroupControlClients& controls) {
  IommuGroup group{.id = IommuGroupId(in.getId()),
                   .type = fields.text("type", in.getType()),
                   .noIommu = in.getNoIommu(),
                   .groupNode = in.getGroupNode(),
                   .use = decodeUse(in.getUse(), fields),
                   .members = {},
                   .mediated = {},
                   .binding = {}};
  group.members = decodeAscending("members", in.getMembers(), fields);
  decodeUuids("mediated", in.getMediated(), fields, group.mediated);
  if (!std::ranges::is_sorted(group.mediated, std::less_equal<>())) {
    fields.refuse("mediated", "is not ascending");
  }
  if (in.hasControl()) controls.insert_or_assign(group.id, in.getControl());
  return group;
}

std::string spell(const Bdf& address) {
  return address.str();
}

std::string spell(const Uuid& uuid) {
  return uuid.str();
}

std::string spell(IommuGroupId id) {
  return std::to_string(id.number());
}

/// Refuses a key that the message has named already.
template <typename Key>
void takeOnce(std::string_view field, const Key& key, std::set<Key>& taken, CheckedFields& fields) {
  if (!taken.insert(key).second) fields.refuse(field, "is " + spell(key) + ", named before");
}

void decodeWhole(schema::Snapshot::Reader in, CheckedFields& fields, DecodedSnapshot& out) {
  std::set<Bdf> addresses;
  std::set<IommuGroupId> ids;
  fields.each("devices", in.getDevices(), kMaxFunctions, [&](schema::Device::Reader item) {
    PciDevice device = decodeDevice(item, fields);
    takeOnce("address", device.address, addresses, fields);
    out.snapshot.devices.emplace(device.address, device);
  });
  fields.each("groups", in.getGroups(), kMaxFunctions, [&](schema::Group::Reader item) {
    IommuGroup group = decodeGroup(item, fields, out.controls);
    takeOnce("id", group.id, ids, fields);
    out.snapshot.groups.emplace(group.id, group);
  });
  std::set<Uuid> uuids;
  fields.each("mediated", in.getMediated(), kMaxMediated, [&](schema::Mediated::Reader item) {
    MediatedDevice mediated = decodeMediated(item, fields);
    takeOnce("uuid", mediated.uuid, uuids, fields);
    out.snapshot.mediated.emplace(mediated.uuid, mediated);
  });
  out.snapshot.egm = decodeEgm(in.getEgm(), fields);
  out.snapshot.controlNode = in.getControlNode();
  out.snapshot.iommufdNode = in.getIommufdNode();
  out.snapshot.vfioPci = in.getVfioPci();
}

void decodeDeviceChanges(schema::Delta::Reader in, CheckedFields& fields, SnapshotDelta& changes) {
  std::set<Bdf> addresses;
  fields.each("changed", in.getChanged(), kMaxFunctions, [&](schema::Device::Reader item) {
    changes.changed.push_back(decodeDevice(item, fields));
    takeOnce("address", changes.changed.back().address, addresses, fields);
  });
  fields.each("removed", in.getRemoved(), kMaxFunctions, [&](schema::Address::Reader item) {
    changes.removed.push_back(fields.address("address", item));
    takeOnce("address", changes.removed.back(), addresses, fields);
  });
}

void decodeMediatedChanges(schema::Delta::Reader in, CheckedFields& fields,
                           SnapshotDelta& changes) {
  std::set<Uuid> uuids;
  fields.each("changedMediated", in.getChangedMediated(), kMaxMediated,
              [&](schema::Mediated::Reader item) {
                changes.changedMediated.push_back(decodeMediated(item, fields));
                takeOnce("uuid", changes.changedMediated.back().uuid, uuids, fields);
              });
  decodeUuids("removedMediated", in.getRemovedMediated(), fields, changes.removedMediated);
  for (const Uuid& uuid : changes.removedMediated) takeOnce("uuid", uuid, uuids, fields);
}

void decodeGroupChanges(schema::Delta::Reader in, CheckedFields& fields, SnapshotDelta& changes,
                        GroupControlClients& controls) {
  std::set<IommuGroupId> ids;
  fields.each("changedGroups", in.getChangedGroups(), kMaxFunctions,
              [&](schema::Group::Reader item) {
                changes.changedGroups.push_back(decodeGroup(item, fields, controls));
                takeOnce("id", changes.changedGroups.back().id, ids, fields);
              });
  fields.each("removedGroups", in.getRemovedGroups(), kMaxFunctions, [&](std::uint32_t item) {
    changes.removedGroups.emplace_back(item);
    takeOnce("id", changes.removedGroups.back(), ids, fields);
  });
}

void decodeContent(schema::Update::Reader in, CheckedFields& fields, DecodedUpdate& out) {
  out.update.epoch = in.getEpoch();
  out.update.generation = in.getGeneration();
  switch (in.which()) {
    case schema::Update::FULL: {
      DecodedSnapshot full;
      decodeWhole(in.getFull(), fields, full);
      out.update.content = std::move(full.snapshot);
      out.controls = std::move(full.controls);
      return;
    }
    case schema::Update::DELTA: {
      UpdateDelta delta{.base = in.getDelta().getBase(), .changes = {}};
      if (delta.base >= out.update.generation) {
        fields.refuse("delta.base", "is " + std::to_string(delta.base) + ", not below generation " +
                                        std::to_string(out.update.generation));
      }
      decodeDeviceChanges(in.getDelta(), fields, delta.changes);
      decodeMediatedChanges(in.getDelta(), fields, delta.changes);
      decodeGroupChanges(in.getDelta(), fields, delta.changes, out.controls);
      delta.changes.egm = decodeEgm(in.getDelta().getEgm(), fields);
      delta.changes.controlNode = in.getDelta().getControlNode();
      delta.changes.iommufdNode = in.getDelta().getIommufdNode();
      delta.changes.vfioPci = in.getDelta().getVfioPci();
      out.update.content = std::move(delta);
      return;
    }
  }
  fields.refuse("which", "is " + std::to_string(in.which()) + ", neither full nor delta");
}

/// Runs `read`, which may find pointers that lead nowhere: Cap'n Proto throws on those.
template <typename Decoded, typename Read>
Result<Decoded, DecodeError> checked(Read read) {
  CheckedFields fields;
  Decoded decoded;
  KJ_IF_MAYBE (exception, kj::runCatchingExceptions([&]() { read(fields, decoded); })) {
    const kj::StringPtr why = exception->getDescription();
    return Failure{DecodeError{std::string("not a well-formed message: ") + why.cStr()}};
  }
  if (fields.error()) return Failure{DecodeError{*fields.error()}};
  return decoded;
}

}  // namespace

Result<DecodedSnapshot, DecodeError> decode(schema::Snapshot::Reader in) {
  return checked<DecodedSnapshot>(
      [in](CheckedFields& fields, DecodedSnapshot& out) { decodeWhole(in, fields, out); });
}

Result<DecodedUpdate, DecodeError> decode(schema::Update::Reader in) {
  return checked<DecodedUpdate>(
      [in](CheckedFields& fields, DecodedUpdate& out) { decodeContent(in, fields, out); });
}

}  // namespace vfiogate
