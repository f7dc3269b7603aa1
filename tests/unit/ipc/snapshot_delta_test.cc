#include "ipc/types/snapshot_delta.h"

#include <gtest/gtest.h>

namespace vfiogate {
namespace {

PciDevice deviceAt(const char* address) {
  return PciDevice{.address = *Bdf::parse(address)};
}

Snapshot snapshotOf(std::initializer_list<PciDevice> devices) {
  Snapshot snapshot;
  for (const PciDevice& device : devices) snapshot.devices.emplace(device.address, device);
  return snapshot;
}

TEST(SnapshotDelta, NamesWhatCameWentAndChanged) {
  PciDevice rebound = deviceAt("0000:01:00.0");
  rebound.driver = "vfio-pci";
  const Snapshot before = snapshotOf({deviceAt("0000:01:00.0"), deviceAt("0000:02:00.0")});
  const Snapshot after = snapshotOf({rebound, deviceAt("0000:03:00.0")});

  const SnapshotDelta delta = diff(before, after);

  EXPECT_EQ(delta.changed, (std::vector{rebound, deviceAt("0000:03:00.0")}));
  EXPECT_EQ(delta.removed, std::vector{*Bdf::parse("0000:02:00.0")});
}

TEST(SnapshotDelta, NamesMediatedDevicesThatCameWentAndChanged) {
  const auto uuid = [](int last) {
    return *Uuid::parse("3f5e2c10-0001-4a5b-8c6d-00000000000" + std::to_string(last));
  };
  const auto made = [&uuid](int last, const char* type) {
    return MediatedDevice{.uuid = uuid(last), .type = type};
  };
  Snapshot before;
  Snapshot after;
  for (const auto& one : {made(1, "a"), made(2, "a")}) before.mediated.emplace(one.uuid, one);
  for (const auto& one : {made(2, "b"), made(3, "a")}) after.mediated.emplace(one.uuid, one);

  const SnapshotDelta delta = diff(before, after);

  EXPECT_EQ(delta.changedMediated, (std::vector{made(2, "b"), made(3, "a")}));
  EXPECT_EQ(delta.removedMediated, std::vector{uuid(1)});
  EXPECT_EQ(apply(before, delta), after);
}

TEST(SnapshotDelta, IsEmptyBetweenEquals) {
  const Snapshot same = snapshotOf({deviceAt("0000:01:00.0")});
  EXPECT_EQ(diff(same, same), SnapshotDelta{});
}

TEST(SnapshotDelta, AppliedToTheFirstGivesTheSecond) {
  Snapshot before = snapshotOf({deviceAt("0000:01:00.0")});
  before.groups.emplace(IommuGroupId(4), IommuGroup{.id = IommuGroupId(4)});
  before.controlNode = true;
  Snapshot after = snapshotOf({deviceAt("0000:02:00.0")});
  after.groups.emplace(IommuGroupId(5), IommuGroup{.id = IommuGroupId(5), .groupNode = true});
  after.iommufdNode = true;

  EXPECT_EQ(apply(before, diff(before, after)), after);
  EXPECT_EQ(apply(after, diff(after, before)), before);
}

TEST(SnapshotDelta, RemovingWhatIsNotThereChangesNothing) {
  const Snapshot before = snapshotOf({deviceAt("0000:01:00.0")});
  EXPECT_EQ(apply(before, SnapshotDelta{.removed = {*Bdf::parse("0000:09:00.0")}}), before);
}

}  // namespace
}  // namespace vfiogate
