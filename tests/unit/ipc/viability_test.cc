#include "ipc/types/viability.h"

#include <gtest/gtest.h>

#include <functional>

namespace vfiogate {
namespace {

const Bdf kGpu = *Bdf::parse("0000:01:00.0");
const Bdf kAudio = *Bdf::parse("0000:01:00.1");
const Bdf kBridge = *Bdf::parse("0000:00:01.0");

PciDevice onVfio(const Bdf& address, std::uint32_t classCode) {
  return PciDevice{.address = address,
                   .vendor = 0x10de,
                   .device = 0x2684,
                   .classCode = classCode,
                   .headerType = 0,
                   .driver = "vfio-pci",
                   .vfioDev = 0,
                   .group = IommuGroupId(7),
                   .enableCount = 0};
}

/// A display with its audio function behind a bridge, one group, all as it should be.
Snapshot healthyGroup() {
  Snapshot snapshot;
  PciDevice bridge = onVfio(kBridge, 0x060400);
  bridge.headerType = 1;
  bridge.driver = "pcieport";
  bridge.vfioDev.reset();
  bridge.enableCount = 2;
  for (const PciDevice& device : {onVfio(kGpu, 0x030000), onVfio(kAudio, 0x040300), bridge}) {
    snapshot.devices.emplace(device.address, device);
  }
  snapshot.groups.emplace(IommuGroupId(7), IommuGroup{.id = IommuGroupId(7),
                                                      .groupNode = true,
                                                      .use = GroupUse::kIdle,
                                                      .members = {kBridge, kGpu, kAudio}});
  return snapshot;
}

TEST(Viability, ABridgeInTheGroupDoesNotMatter) {
  EXPECT_EQ(viability(healthyGroup(), kGpu), Viability{});
}

struct Case {
  const char* name;
  std::function<void(Snapshot&)> change;
  Obstacle want;
  std::optional<Bdf> culprit = std::nullopt;
};

class ViabilityOf : public testing::TestWithParam<Case> {};

TEST_P(ViabilityOf, TheGpu) {
  Snapshot snapshot = healthyGroup();
  GetParam().change(snapshot);
  const Viability seen = viability(snapshot, kGpu);
  EXPECT_EQ(reasonCode(seen.obstacle), reasonCode(GetParam().want));
  EXPECT_EQ(seen.culprit, GetParam().culprit);
  EXPECT_FALSE(explain(snapshot, kGpu, seen).empty());
}

PciDevice& gpu(Snapshot& snapshot) {
  return snapshot.devices.at(kGpu);
}
PciDevice& audio(Snapshot& snapshot) {
  return snapshot.devices.at(kAudio);
}
IommuGroup& group(Snapshot& snapshot) {
  return snapshot.groups.at(IommuGroupId(7));
}
void unbind(PciDevice& device, const char* driver = "") {
  device.driver = driver;
  device.vfioDev.reset();
}

INSTANTIATE_TEST_SUITE_P(
    Table, ViabilityOf,
    testing::Values(
        Case{"AsItShouldBe", [](Snapshot&) {}, Obstacle::kNone},
        Case{"NoVendor", [](Snapshot& s) { gpu(s).vendor.reset(); }, Obstacle::kUnreadable},
        Case{"NoClass", [](Snapshot& s) { gpu(s).classCode.reset(); }, Obstacle::kUnreadable},
        Case{"Bridge", [](Snapshot& s) { gpu(s).headerType = 1; }, Obstacle::kBridge},
        Case{"NvSwitch", [](Snapshot& s) { gpu(s).classCode = 0x068000; }, Obstacle::kNone},
        Case{"BridgeByClassAlone",
             [](Snapshot& s) {
               gpu(s).classCode = 0x060400;
               gpu(s).headerType.reset();
             },
             Obstacle::kBridge},
        Case{"HostBridge",
             [](Snapshot& s) {
               gpu(s).classCode = 0x060000;
               unbind(gpu(s));
             },
             Obstacle::kPlatform},
        Case{"SmbusOnVfioByAnOperatorsWord", [](Snapshot& s) { gpu(s).classCode = 0x0c0500; },
             Obstacle::kNone},
        Case{"NoGroup", [](Snapshot& s) { gpu(s).group.reset(); }, Obstacle::kNoGroup},
        Case{"GroupGone", [](Snapshot& s) { s.groups.clear(); }, Obstacle::kNoGroup},
        Case{"NoIommu", [](Snapshot& s) { group(s).noIommu = true; }, Obstacle::kNoIommu},
        Case{"AllOnes", [](Snapshot& s) { gpu(s).answers = false; }, Obstacle::kNotAnswering},
        Case{"HostDriver", [](Snapshot& s) { unbind(gpu(s), "nouveau"); }, Obstacle::kHostDriver},
        Case{"MediatedParent",
             [](Snapshot& s) {
               unbind(gpu(s), "nvidia");
               gpu(s).mediated = {*Uuid::parse("3f5e2c10-0001-4a5b-8c6d-000000000001")};
             },
             Obstacle::kMediatedParent},
        Case{"VgpuWithoutAType",
             [](Snapshot& s) {
               gpu(s).driver = "nvidia";
               gpu(s).vgpuType = 0;
             },
             Obstacle::kNoVgpuType},
        Case{"VgpuWithoutATypeNorVfio",
             [](Snapshot& s) {
               unbind(gpu(s), "nvidia");
               gpu(s).vgpuType = 0;
             },
             Obstacle::kNoVgpuType},
        Case{"VgpuWithAType",
             [](Snapshot& s) {
               gpu(s).driver = "nvidia";
               gpu(s).vgpuType = 1147;
               gpu(s).enableCount = 1;
             },
             Obstacle::kNone},
        Case{"VgpuThatIsNotOfferedToVfio",
             [](Snapshot& s) {
               unbind(gpu(s), "nvidia");
               gpu(s).vgpuType = 1147;
             },
             Obstacle::kHostDriver},
        Case{"VariantDriver", [](Snapshot& s) { gpu(s).driver = "nvgrace_gpu_vfio_pci"; },
             Obstacle::kNone},
        Case{"NoDriver", [](Snapshot& s) { unbind(gpu(s)); }, Obstacle::kNoDriver},
        Case{"UnboundInUse",
             [](Snapshot& s) {
               unbind(gpu(s));
               gpu(s).enableCount = 1;
             },
             Obstacle::kBeingUnbound},
        Case{"MemberOnHost", [](Snapshot& s) { unbind(audio(s), "snd_hda_intel"); },
             Obstacle::kMemberOnHost, kAudio},
        Case{"MemberWithoutDriver", [](Snapshot& s) { unbind(audio(s)); }, Obstacle::kNone},
        Case{"MemberOnStub", [](Snapshot& s) { unbind(audio(s), "pci-stub"); }, Obstacle::kNone},
        Case{"MemberUnboundInUse",
             [](Snapshot& s) {
               unbind(audio(s));
               audio(s).enableCount = 1;
             },
             Obstacle::kMemberStuck, kAudio},
        Case{"VirtualFunctionsElsewhere",
             [](Snapshot& s) {
               gpu(s).sriov = SriovRole::kPhysicalFunction;
               gpu(s).virtualFunctions = 2;
             },
             Obstacle::kHasVfs, kGpu},
        Case{"AMembersVirtualFunctionsElsewhere",
             [](Snapshot& s) { audio(s).virtualFunctions = 1; }, Obstacle::kHasVfs, kAudio},
        Case{"OneVirtualFunctionOfTwoElsewhere",
             [](Snapshot& s) {
               gpu(s).virtualFunctions = 2;
               audio(s).physicalFunction = kGpu;
             },
             Obstacle::kHasVfs, kGpu},
        Case{"ItsVirtualFunctionsInItsGroup",
             [](Snapshot& s) {
               gpu(s).virtualFunctions = 1;
               audio(s).physicalFunction = kGpu;
             },
             Obstacle::kNone},
        Case{"VirtualFunctionsOfOneOnItsHostDriver",
             [](Snapshot& s) {
               unbind(gpu(s), "mlx5_core");
               gpu(s).virtualFunctions = 2;
             },
             Obstacle::kHostDriver},
        Case{"NoNode", [](Snapshot& s) { group(s).groupNode = false; }, Obstacle::kNoNode},
        Case{"DeviceNodeIsEnough",
             [](Snapshot& s) {
               group(s).groupNode = false;
               gpu(s).cdevNode = true;
             },
             Obstacle::kNone}),
    [](const auto& row) { return std::string(row.param.name); });

TEST(Viability, ExplanationsNameTheCulpritAndWhatLiftsIt) {
  Snapshot snapshot = healthyGroup();
  unbind(audio(snapshot), "snd_hda_intel");
  EXPECT_EQ(
      explain(snapshot, kGpu, viability(snapshot, kGpu)),
      "group member 0000:01:00.1 is bound to snd_hda_intel: bind the whole group to vfio-pci");
}

TEST(Viability, NobodyIsAdvisedToBindAPartOfTheMachine) {
  Snapshot snapshot = healthyGroup();
  unbind(audio(snapshot), "i801_smbus");
  audio(snapshot).classCode = 0x0c0500;
  EXPECT_EQ(explain(snapshot, kGpu, viability(snapshot, kGpu)),
            "group member 0000:01:00.1 is bound to i801_smbus and part of the machine itself: use "
            "a slot whose group it is not in");
}

TEST(Platform, IsJudgedByClass) {
  const auto is = [](std::uint32_t classCode) {
    PciDevice device = onVfio(kGpu, classCode);
    return isPlatform(device);
  };
  for (const std::uint32_t part : {0x060000U, 0x060100U, 0x060400U, 0x050000U, 0x058000U, 0x080000U,
                                   0x080200U, 0x080600U, 0x0c0500U, 0x0c8000U}) {
    EXPECT_TRUE(is(part)) << part;
  }
  for (const std::uint32_t card :
       {0x068000U, 0x088000U, 0x030000U, 0x0c0330U, 0x0c0400U, 0x0c0600U, 0x120000U, 0x110100U}) {
    EXPECT_FALSE(is(card)) << card;
  }
}

TEST(Viability, SaysWhereAVgpusTypeIsWritten) {
  const auto said = [](std::optional<std::uint32_t> vfioDev, std::uint32_t type,
                       std::vector<AttributeProblem> problems) {
    Snapshot snapshot = healthyGroup();
    PciDevice& device = snapshot.devices.at(kGpu);
    device.driver = "nvidia";
    device.vfioDev = vfioDev;
    device.vgpuType = type;
    device.problems = std::move(problems);
    return explain(snapshot, kGpu, viability(snapshot, kGpu));
  };
  EXPECT_EQ(said(0, 0, {}),
            "no vGPU type is set: write the number of one of its nvidia/creatable_vgpu_types to "
            "its nvidia/current_vgpu_type");
  EXPECT_TRUE(said(0, 0, {{"nvidia/current_vgpu_type", "malformed: \"x\""}})
                  .ends_with("; nvidia/current_vgpu_type is malformed: \"x\""));
  EXPECT_EQ(said(std::nullopt, 1147, {}),
            "a vGPU for which nvidia offers no VFIO device: look into the kernel's log")
      << "and no advice to bind it to vfio-pci";
}

}  // namespace
}  // namespace vfiogate
