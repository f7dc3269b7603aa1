#include "ipc/codec/decode_snapshot.h"

#include "ipc/types/hex.h"

#include <algorithm>
#include <set>

namespace vfiogate {
namespace {

constexpr std::size_t kLongestText = 4096;
constexpr unsigned kLongestList = 65536;

/// Collects the first thing that is wrong; decoding goes on with a harmless value, and the result
/// is thrown away at the end.
class Check {
public:
  explicit Check(std::string& what) : what_(what) {}

  void fail(const std::string& what) {
    if (what_.empty()) what_ = where_ + what;
  }
  void enter(std::string where) { where_ = std::move(where) + ": "; }

  std::string text(capnp::Text::Reader text, const char* field) {
    if (text.size() > kLongestText) fail(std::string(field) + " is longer than 4096 bytes");
    return {text.begin(), std::min(text.size(), kLongestText)};
  }

  /// `value` within 0..`most`, or absent if it is negative.
  template <typename T>
  std::optional<T> number(std::int64_t value, std::int64_t most, const char* field) {
    if (value < 0) return std::nullopt;
    if (value > most) {
      fail(std::string(field) + " is " + std::to_string(value) + ", above " + std::to_string(most));
      return std::nullopt;
    }
    return static_cast<T>(value);
  }

  template <typename List>
  bool bounded(List list, const char* field) {
    if (list.size() <= kLongestList) return true;
    fail(std::string(field) + " has more than 65536 entries");
    return false;
  }

  std::optional<Bdf> address(schema::Address::Reader from, const char* field) {
    const auto made =
        Bdf::make(from.getSegment(), from.getBus(), from.getDevice(), from.getFunction());
    if (made) return *made;
    fail(std::string(field) + " has device " + std::to_string(from.getDevice()) + ", function " +
         std::to_string(from.getFunction()));
    return std::nullopt;
  }

private:
  std::string& what_;
  std::string where_;
};

SriovRole roleOf(schema::SriovRole role, Check& check) {
  switch (role) {
    case schema::SriovRole::NONE:
      return SriovRole::kNone;
    case schema::SriovRole::PHYSICAL_FUNCTION:
      return SriovRole::kPhysicalFunction;
    case schema::SriovRole::VIRTUAL_FUNCTION:
      return SriovRole::kVirtualFunction;
  }
  check.fail("sriov is no known role");
  return SriovRole::kNone;
}

GroupUse useOf(schema::Use use, Check& check) {
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
  check.fail("use is no known value");
  return GroupUse::kUnknown;
}

void decodeNumbers(schema::Device::Reader from, PciDevice& device, Check& check) {
  device.vendor = check.number<std::uint16_t>(from.getVendor(), 0xffff, "vendor");
  device.device = check.number<std::uint16_t>(from.getDevice(), 0xffff, "device");
  device.subvendor = check.number<std::uint16_t>(from.getSubvendor(), 0xffff, "subvendor");
  device.subdevice = check.number<std::uint16_t>(from.getSubdevice(), 0xffff, "subdevice");
  device.classCode = check.number<std::uint32_t>(from.getClassCode(), 0xffffff, "class");
  device.revision = check.number<std::uint8_t>(from.getRevision(), 0xff, "revision");
  device.headerType = check.number<std::uint8_t>(from.getHeaderType(), 0x7f, "header type");
  device.vfioDev = check.number<std::uint32_t>(from.getVfioDev(), 0xffffffff, "vfio-dev");
  device.numaNode = check.number<std::uint32_t>(from.getNumaNode(), 0x7fffffff, "NUMA node");
  device.enableCount = check.number<std::uint32_t>(from.getEnableCount(), 0xffffffff, "enable");
  device.virtualFunctions = from.getVirtualFunctions();
  if (const auto group = check.number<std::uint32_t>(from.getGroup(), 0xffffffff, "group")) {
    device.group = IommuGroupId(*group);
  }
}

void decodeLists(schema::Device::Reader from, PciDevice& device, Check& check) {
  if (!check.bounded(from.getMediated(), "mediated") ||
      !check.bounded(from.getProblems(), "problems")) {
    return;
  }
  for (const auto mediated : from.getMediated()) {
    device.mediated.push_back(
        {check.text(mediated.getUuid(), "uuid"), check.text(mediated.getType(), "type")});
  }
  for (const auto problem : from.getProblems()) {
    device.problems.push_back(
        {check.text(problem.getAttribute(), "attribute"), check.text(problem.getWhy(), "problem")});
  }
}

std::optional<PciDevice> decodeDevice(schema::Device::Reader from, Check& check) {
  check.enter("device");
  const auto address = check.address(from.getAddress(), "address");
  if (!address) return std::nullopt;
  check.enter("device " + address->str());
  PciDevice device{.address = *address};
  decodeNumbers(from, device, check);
  decodeLists(from, device, check);
  device.answers = from.getAnswers();
  device.driver = check.text(from.getDriver(), "driver");
  device.cdevNode = from.getCdevNode();
  device.modalias = check.text(from.getModalias(), "modalias");
  device.bootVga = from.getBootVga();
  device.sriov = roleOf(from.getSriov(), check);
  if (from.hasPhysicalFunction()) {
    device.physicalFunction = check.address(from.getPhysicalFunction(), "physical function");
  }
  device.resetMethods = check.text(from.getResetMethods(), "reset methods");
  device.pcieRoot = check.text(from.getPcieRoot(), "root");
  return device;
}

IommuGroup decodeGroup(schema::Group::Reader from, Check& check, GroupControlClients& controls) {
  const IommuGroupId id(from.getId());
  check.enter("group " + std::to_string(id.number()));
  IommuGroup group{.id = id,
                   .type = check.text(from.getType(), "type"),
                   .noIommu = from.getNoIommu(),
                   .groupNode = from.getGroupNode(),
                   .use = useOf(from.getUse(), check)};
  if (check.bounded(from.getMembers(), "members")) {
    for (const auto member : from.getMembers()) {
      if (const auto address = check.address(member, "member")) group.members.push_back(*address);
    }
  }
  std::ranges::sort(group.members);
  if (std::ranges::adjacent_find(group.members) != group.members.end())
    check.fail("a member twice");
  if (from.hasControl()) controls.insert_or_assign(id, from.getControl());
  return group;
}

}  // namespace

Result<DecodedSnapshot, DecodeError> decodeSnapshot(schema::Snapshot::Reader from) {
  std::string what;
  Check check(what);
  DecodedSnapshot to;
  to.snapshot.controlNode = from.getControlNode();
  to.snapshot.iommufdNode = from.getIommufdNode();
  if (check.bounded(from.getDevices(), "devices") && check.bounded(from.getGroups(), "groups")) {
    for (const auto entry : from.getDevices()) {
      auto device = decodeDevice(entry, check);
      if (!device) continue;
      const Bdf address = device->address;
      if (!to.snapshot.devices.emplace(address, std::move(*device)).second) check.fail("is twice");
    }
    for (const auto entry : from.getGroups()) {
      IommuGroup group = decodeGroup(entry, check, to.controls);
      const IommuGroupId id = group.id;
      if (!to.snapshot.groups.emplace(id, std::move(group)).second) check.fail("is twice");
    }
  }
  if (!what.empty()) return Failure{DecodeError{what}};
  return to;
}

Result<DecodedDelta, DecodeError> decodeDelta(schema::Delta::Reader from) {
  std::string what;
  Check check(what);
  DecodedDelta to{.base = from.getBase()};
  to.delta.controlNode = from.getControlNode();
  to.delta.iommufdNode = from.getIommufdNode();
  const bool bounded = check.bounded(from.getChanged(), "changed") &&
                       check.bounded(from.getRemoved(), "removed") &&
                       check.bounded(from.getChangedGroups(), "changed groups") &&
                       check.bounded(from.getRemovedGroups(), "removed groups");
  if (!bounded) return Failure{DecodeError{what}};
  std::set<Bdf> devices;
  for (const auto entry : from.getChanged()) {
    auto device = decodeDevice(entry, check);
    if (!device) continue;
    if (!devices.insert(device->address).second) check.fail("is twice");
    to.delta.changed.push_back(std::move(*device));
  }
  check.enter("removed");
  for (const auto entry : from.getRemoved()) {
    if (const auto address = check.address(entry, "address")) to.delta.removed.push_back(*address);
  }
  std::set<IommuGroupId> groups;
  for (const auto entry : from.getChangedGroups()) {
    IommuGroup group = decodeGroup(entry, check, to.controls);
    if (!groups.insert(group.id).second) check.fail("is twice");
    to.delta.changedGroups.push_back(std::move(group));
  }
  for (const std::uint32_t id : from.getRemovedGroups()) {
    to.delta.removedGroups.emplace_back(id);
  }
  if (!what.empty()) return Failure{DecodeError{what}};
  return to;
}

}  // namespace vfiogate
