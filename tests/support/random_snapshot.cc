#include "tests/support/random_snapshot.h"

#include <algorithm>
#include <limits>
#include <set>

#include "ipc/base/hex.h"

namespace vfiogate {
namespace {

constexpr std::uint64_t kMaxU32 = std::numeric_limits<std::uint32_t>::max();
constexpr std::uint64_t kMaxI32 = std::numeric_limits<std::int32_t>::max();

}  // namespace

std::uint64_t RandomSnapshots::upTo(std::uint64_t max) {
  return std::uniform_int_distribution<std::uint64_t>(0, max)(random_);
}

Bdf RandomSnapshots::address() {
  const std::uint64_t segment = flip() ? upTo(2) : upTo(kMaxU32);
  return Bdf::make(static_cast<std::uint32_t>(segment), static_cast<std::uint8_t>(upTo(255)),
                   static_cast<std::uint8_t>(upTo(31)), static_cast<std::uint8_t>(upTo(7)))
      .value();
}

std::string RandomSnapshots::text() {
  std::string text(upTo(9) == 0 ? upTo(4096) : upTo(12), '\0');
  for (char& c : text) c = static_cast<char>(upTo(255));
  return text;
}

Uuid RandomSnapshots::uuid() {
  return *Uuid::parse("00000000-0000-0000-0000-0000" +
                      hexDigits(static_cast<std::uint32_t>(upTo(40)), 8));
}

MediatedDevice RandomSnapshots::mediated() {
  MediatedDevice made{.uuid = uuid(),
                      .type = text(),
                      .typeName = text(),
                      .parent = std::nullopt,
                      .numaNode = maybe<std::uint32_t>(kMaxI32),
                      .driver = text(),
                      .group = std::nullopt,
                      .vfioDev = maybe<std::uint32_t>(kMaxU32),
                      .cdevNode = flip(),
                      .problems = {}};
  if (flip()) made.parent = address();
  if (flip()) made.group = IommuGroupId(static_cast<std::uint32_t>(upTo(kMaxU32)));
  for (auto left = upTo(3); left > 0; --left) made.problems.push_back({text(), text()});
  return made;
}

PciDevice RandomSnapshots::device() {
  PciDevice device{.address = address()};
  device.vendor = maybe<std::uint16_t>(0xffff);
  device.device = maybe<std::uint16_t>(0xffff);
  device.subvendor = maybe<std::uint16_t>(0xffff);
  device.subdevice = maybe<std::uint16_t>(0xffff);
  device.classCode = maybe<std::uint32_t>(0xff'ffff);
  device.revision = maybe<std::uint8_t>(0xff);
  device.headerType = maybe<std::uint8_t>(0x7f);
  device.answers = flip();
  device.driver = text();
  device.vfioDev = maybe<std::uint32_t>(kMaxU32);
  device.vfioGroup = flip();
  device.cdevNode = flip();
  device.modalias = text();
  device.numaNode = maybe<std::uint32_t>(kMaxI32);
  if (flip()) device.group = IommuGroupId(static_cast<std::uint32_t>(upTo(kMaxU32)));
  device.bootVga = flip();
  device.sriov = static_cast<SriovRole>(upTo(2));
  if (flip()) device.physicalFunction = address();
  device.virtualFunctions = static_cast<std::uint32_t>(upTo(kMaxU32));
  device.resetMethods = text();
  device.enableCount = maybe<std::uint32_t>(kMaxU32);
  device.pcieRoot = text();
  if (flip()) device.rootPort = address();
  device.slot = text();
  device.vgpuType = maybe<std::uint32_t>(kMaxU32);
  device.vgpuTypeName = text();
  for (auto left = upTo(3); left > 0; --left) device.mediated.push_back(uuid());
  for (auto left = upTo(3); left > 0; --left) device.problems.push_back({text(), text()});
  return device;
}

IommuGroup RandomSnapshots::group() {
  IommuGroup group{.id = IommuGroupId(static_cast<std::uint32_t>(upTo(flip() ? 40 : kMaxU32))),
                   .type = text(),
                   .noIommu = flip(),
                   .groupNode = flip(),
                   .use = static_cast<GroupUse>(upTo(3)),
                   .members = {},
                   .mediated = {},
                   .binding = {}};
  std::set<Uuid> parts;
  for (auto left = upTo(2); left > 0; --left) parts.insert(uuid());
  group.mediated.assign(parts.begin(), parts.end());
  std::set<Bdf> members;
  for (auto left = upTo(5); left > 0; --left) members.insert(address());
  group.members.assign(members.begin(), members.end());
  return group;
}

Snapshot RandomSnapshots::draw() {
  Snapshot snapshot{.controlNode = flip(), .iommufdNode = flip(), .vfioPci = flip()};
  for (auto left = upTo(12); left > 0; --left) {
    PciDevice made = device();
    snapshot.devices.insert_or_assign(made.address, made);
  }
  for (auto left = upTo(12); left > 0; --left) {
    IommuGroup made = group();
    snapshot.groups.insert_or_assign(made.id, made);
  }
  for (auto left = upTo(12); left > 0; --left) {
    MediatedDevice made = mediated();
    snapshot.mediated.insert_or_assign(made.uuid, made);
  }
  for (std::uint32_t number = 0; number < 8; ++number) {
    if (upTo(3) != 0) continue;
    const std::set<Bdf> gpus{address(), address()};
    snapshot.egm.push_back({number, {gpus.begin(), gpus.end()}});
  }
  return snapshot;
}

Snapshot RandomSnapshots::drawAfter(Snapshot before) {
  std::erase_if(before.devices, [this](const auto&) { return upTo(4) == 0; });
  std::erase_if(before.groups, [this](const auto&) { return upTo(4) == 0; });
  std::erase_if(before.mediated, [this](const auto&) { return upTo(4) == 0; });
  for (auto& [address, device] : before.devices) {
    if (upTo(3) == 0) device.driver = text();
  }
  const Snapshot more = draw();
  before.devices.insert(more.devices.begin(), more.devices.end());
  before.groups.insert(more.groups.begin(), more.groups.end());
  before.mediated.insert(more.mediated.begin(), more.mediated.end());
  before.egm = more.egm;
  before.controlNode = flip();
  before.vfioPci = flip();
  return before;
}

}  // namespace vfiogate
