#include "privd/cli/base/device_json.h"

#include <gtest/gtest.h>

namespace vfiogate {
namespace {

const Bdf kGpu = *Bdf::parse("0000:01:00.0");

NodeView viewOfOne() {
  NodeView view;
  view.names = PciIds::parse("10de  NVIDIA\n\t2684  AD102\nC 03  Display\n\t00  VGA\n");
  view.snapshot.devices.emplace(kGpu, PciDevice{.address = kGpu,
                                                .vendor = 0x10de,
                                                .device = 0x2684,
                                                .classCode = 0x030000,
                                                .headerType = 0,
                                                .driver = "nouveau",
                                                .numaNode = 1,
                                                .group = IommuGroupId(7),
                                                .enableCount = 1,
                                                .pcieRoot = "pci0000:00",
                                                .rootPort = Bdf::parse("0000:00:01.0").value(),
                                                .slot = "4",
                                                .problems = {{"revision", "unreadable: \xff"}}});
  view.snapshot.groups.emplace(
      IommuGroupId(7),
      IommuGroup{
          .id = IommuGroupId(7), .type = "DMA-FQ", .use = GroupUse::kIdle, .members = {kGpu}});
  return view;
}

// docs/list-json.md promises this form: keys are added, never renamed, moved or removed.
TEST(DeviceJson, HasTheDocumentedForm) {
  EXPECT_EQ(listJson(viewOfOne(), {}).dump(1), R"({
 "version": 1,
 "groups": [
  {
   "id": 7,
   "type": "DMA-FQ",
   "use": "idle",
   "noIommu": false,
   "groupNode": false,
   "members": [
    "0000:01:00.0"
   ],
   "mediated": []
  }
 ],
 "devices": [
  {
   "address": "0000:01:00.0",
   "vendor": "10de",
   "device": "2684",
   "subsystemVendor": null,
   "subsystemDevice": null,
   "class": "030000",
   "revision": null,
   "className": "VGA",
   "name": "NVIDIA AD102",
   "driver": "nouveau",
   "vfio": false,
   "numaNode": 1,
   "iommuGroup": 7,
   "state": "host-driver",
   "reason": "bound to nouveau, not to a VFIO driver: bind its group to vfio-pci",
   "culprit": null,
   "enableCount": 1,
   "bootVga": false,
   "sriov": {
    "role": "none",
    "physicalFunction": null,
    "virtualFunctions": 0
   },
   "resetMethods": null,
   "pcieRoot": "pci0000:00",
   "rootPort": "0000:00:01.0",
   "slot": "4",
   "mediated": [],
   "vgpu": null,
   "problems": [
    {
     "attribute": "revision",
     "why": "unreadable: ?"
    }
   ]
  }
 ],
 "mediated": [],
 "egm": []
})");
}

TEST(DeviceJson, HasTheTypeOfAVgpu) {
  NodeView view = viewOfOne();
  PciDevice& device = view.snapshot.devices.at(kGpu);
  device.driver = "nvidia";
  device.vfioDev = 0;
  device.vgpuType = 0;
  EXPECT_EQ(deviceJson(view, device)["vgpu"].dump(), R"({"type":0,"typeName":null})");
  EXPECT_EQ(deviceJson(view, device)["state"], "no-vgpu-type");
  device.vgpuType = 1147;
  device.vgpuTypeName = "NVIDIA L40S-1Q";
  EXPECT_EQ(deviceJson(view, device)["vgpu"].dump(),
            R"({"type":1147,"typeName":"NVIDIA L40S-1Q"})");
}

TEST(DeviceJson, HasMediatedDevicesBesideTheFunctions) {
  const Uuid uuid = *Uuid::parse("3f5e2c10-0001-4a5b-8c6d-000000000001");
  NodeView view = viewOfOne();
  view.snapshot.devices.at(kGpu).mediated = {uuid};
  view.snapshot.mediated.emplace(uuid, MediatedDevice{.uuid = uuid,
                                                      .type = "nvidia-711",
                                                      .typeName = "NVIDIA A16-4Q",
                                                      .parent = kGpu,
                                                      .numaNode = 1,
                                                      .driver = "vfio_mdev",
                                                      .group = IommuGroupId(60)});
  view.snapshot.groups.emplace(IommuGroupId(60), IommuGroup{.id = IommuGroupId(60),
                                                            .type = "unknown",
                                                            .groupNode = true,
                                                            .use = GroupUse::kBlind,
                                                            .members = {},
                                                            .mediated = {uuid}});
  const auto json = listJson(view, {});
  EXPECT_EQ(json["mediated"].dump(1), R"([
 {
  "uuid": "3f5e2c10-0001-4a5b-8c6d-000000000001",
  "type": "nvidia-711",
  "typeName": "NVIDIA A16-4Q",
  "parent": "0000:01:00.0",
  "driver": "vfio_mdev",
  "numaNode": 1,
  "iommuGroup": 60,
  "state": "passable",
  "reason": null,
  "problems": []
 }
])");
  EXPECT_EQ(json["groups"][1]["mediated"][0], uuid.str());
  EXPECT_EQ(json["devices"][0]["state"], "mediated-parent");
  EXPECT_EQ(json["devices"][0]["mediated"][0], uuid.str());
  const auto others = listJson(view, {.devices = {*Bdf::parse("0000:02:00.0")}});
  EXPECT_TRUE(others["mediated"].empty()) << "it is asked for by its parent";
  const auto alone = listJson(view, {.devices = {uuid}});
  EXPECT_EQ(alone["mediated"].size(), 1U) << "or by its UUID";
  EXPECT_TRUE(alone["devices"].empty());
}

TEST(DeviceJson, SaysWhichGpusShareTheirExtendedMemory) {
  NodeView view = viewOfOne();
  view.snapshot.egm = {{4, {kGpu}}};
  EXPECT_EQ(listJson(view, {})["egm"].dump(), R"([{"number":4,"gpus":["0000:01:00.0"]}])");
  const auto others = listJson(view, {.devices = {*Bdf::parse("0000:02:00.0")}});
  EXPECT_TRUE(others["egm"].empty());
}

}  // namespace
}  // namespace vfiogate
