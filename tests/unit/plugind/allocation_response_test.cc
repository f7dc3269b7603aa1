#include "plugind/core/resource/allocation_response.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/hardware.h"

namespace vfiogate {
namespace {

using test::at;
using test::Hardware;
using testing::ElementsAre;

const ResourceName kResource = *ResourceName::parse("vfiogate.dev/10de_2684");

/// The nodes, or the bar's reason alone.
std::vector<std::string> nodesOf(const Hardware& hardware, const std::set<UnitId>& ids,
                                 Backend backend) {
  const auto nodes = deviceNodes(hardware.snapshot(), ids, backend);
  return nodes ? *nodes : std::vector{nodes.error().reason};
}

TEST(KubevirtVariable, FollowsTheRuleOfItsReader) {
  struct Row {
    const char* resource;
    const char* want;
  };
  const Row rows[] = {
      {"nvidia.com/GB202_GEFORCE_RTX_5090", "PCI_RESOURCE_NVIDIA_COM_GB202_GEFORCE_RTX_5090"},
      {"example.org/my-gpu", "PCI_RESOURCE_EXAMPLE_ORG_MY-GPU"},
      {"vfiogate.dev/10de_2684", "PCI_RESOURCE_VFIOGATE_DEV_10DE_2684"},
      {"a-b.c/d.e", "PCI_RESOURCE_A-B_C_D_E"},
  };
  for (const Row& row : rows) {
    const ResourceName resource = *ResourceName::parse(row.resource);
    EXPECT_EQ(kubevirtVariable(resource, DeviceKind::kFunction), row.want);
    EXPECT_EQ(kubevirtVariable(resource, DeviceKind::kMediated), "MDEV_" + std::string(row.want));
  }
}

TEST(SriovVariable, FollowsTheRuleOfThatPlugin) {
  struct Row {
    const char* resource;
    const char* want;
  };
  const Row rows[] = {
      {"intel.com/intel_sriov_dpdk", "PCIDEVICE_INTEL_COM_INTEL_SRIOV_DPDK"},
      {"openshift.io/mlxnics", "PCIDEVICE_OPENSHIFT_IO_MLXNICS"},
      {"vfiogate.dev/8086_1889", "PCIDEVICE_VFIOGATE_DEV_8086_1889"},
  };
  for (const Row& row : rows) {
    EXPECT_EQ(sriovVariable(*ResourceName::parse(row.resource)), row.want);
  }
}

TEST(AllocationResponse, NamesExactlyOneAddressPerUnitAscending) {
  Hardware hardware;
  hardware.add("0000:02:00.0", 9);
  hardware.add("0000:01:00.1", 12);  // shares the group, and was not asked for
  hardware.add("0000:01:00.0", 12);
  const std::set<UnitId> ids{at("0000:02:00.0"), at("0000:01:00.0")};
  const auto response =
      allocationResponse(hardware.snapshot(), kResource, ids, ids, AllocationSettings{});
  ASSERT_TRUE(response);
  EXPECT_THAT(response->nodes, ElementsAre("/dev/vfio/vfio", "/dev/vfio/9", "/dev/vfio/12"));
  EXPECT_THAT(response->environment, ElementsAre(std::pair("PCI_RESOURCE_VFIOGATE_DEV_10DE_2684",
                                                           "0000:01:00.0,0000:02:00.0")));
}

TEST(AllocationResponse, HandsOverWhatGoesAlong) {
  Hardware hardware;
  hardware.add("0000:01:00.0", 12);
  hardware.add("0000:02:00.0", 13);
  const std::set<UnitId> ids{at("0000:01:00.0")};
  const std::set<UnitId> handed{at("0000:01:00.0"), at("0000:02:00.0")};
  const auto response =
      allocationResponse(hardware.snapshot(), kResource, ids, handed, AllocationSettings{});
  ASSERT_TRUE(response);
  EXPECT_THAT(response->nodes, ElementsAre("/dev/vfio/vfio", "/dev/vfio/12", "/dev/vfio/13"));
  EXPECT_THAT(response->environment,
              ElementsAre(std::pair("PCI_RESOURCE_VFIOGATE_DEV_10DE_2684", "0000:01:00.0")));
}

TEST(AllocationResponse, HasNoVariableWhereNoneIsWanted) {
  Hardware hardware;
  hardware.add("0000:01:00.0", 12);
  const std::set<UnitId> ids{at("0000:01:00.0")};
  const auto response = allocationResponse(hardware.snapshot(), kResource, ids, ids,
                                           {.backend = Backend::kAuto, .kubevirtVariable = false});
  ASSERT_TRUE(response);
  EXPECT_TRUE(response->environment.empty());
}

TEST(AllocationResponse, HasEachVariableThatIsWanted) {
  Hardware hardware;
  hardware.add("0000:01:00.0", 12);
  hardware.add("10000:02:00.0", 13);
  AllocationSettings both{.sriovVariable = true};
  const std::set<UnitId> one{at("0000:01:00.0")};
  const auto response = allocationResponse(hardware.snapshot(), kResource, one, one, both);
  ASSERT_TRUE(response);
  EXPECT_THAT(response->environment,
              ElementsAre(std::pair("PCIDEVICE_VFIOGATE_DEV_10DE_2684", "0000:01:00.0"),
                          std::pair("PCI_RESOURCE_VFIOGATE_DEV_10DE_2684", "0000:01:00.0")));
  // A segment above 16 bits is KubeVirt's trouble alone.
  const std::set<UnitId> two{at("0000:01:00.0"), at("10000:02:00.0")};
  both.kubevirtVariable = false;
  const auto plain = allocationResponse(hardware.snapshot(), kResource, two, two, both);
  ASSERT_TRUE(plain);
  EXPECT_THAT(plain->environment, ElementsAre(std::pair("PCIDEVICE_VFIOGATE_DEV_10DE_2684",
                                                        "0000:01:00.0,10000:02:00.0")));
}

TEST(AllocationResponse, HasNoAddressOfAMediatedDevice) {
  Hardware hardware;
  hardware.add("0000:01:00.0", 12);
  hardware.addMediated("83b8f4f2-509f-382f-3c1e-e6bfe0fa1001", "0000:01:00.0", "nvidia-711", 60);
  const std::set<UnitId> ids{*UnitId::parse("83b8f4f2-509f-382f-3c1e-e6bfe0fa1001")};
  const auto response = allocationResponse(hardware.snapshot(), kResource, ids, ids,
                                           AllocationSettings{.sriovVariable = true});
  ASSERT_TRUE(response);
  EXPECT_THAT(response->environment,
              ElementsAre(std::pair("MDEV_PCI_RESOURCE_VFIOGATE_DEV_10DE_2684",
                                    "83b8f4f2-509f-382f-3c1e-e6bfe0fa1001")));
}

std::vector<Mount> mountsOf(const Hardware& hardware, const UnitId& id, Backend backend,
                            const std::string& socket = "/run/x/iommufd.sock") {
  const auto response = allocationResponse(hardware.snapshot(), kResource, {id}, {id},
                                           {.backend = backend, .iommufdSocket = socket});
  return response ? response->mounts : std::vector<Mount>{{"refused", response.error().reason}};
}

TEST(AllocationResponse, MountsTheLaunchersSocketBesideDevicesOwnNodes) {
  Hardware hardware;
  hardware.add("0000:01:00.0", 12);
  const UnitId card = at("0000:01:00.0");
  const Mount mount{"/run/x/iommufd.sock", "/var/run/kubevirt/iommufd.sock"};
  for (const Backend backend : {Backend::kIommufd, Backend::kBoth, Backend::kAutoIommufd}) {
    EXPECT_THAT(mountsOf(hardware, card, backend), ElementsAre(mount));
    EXPECT_THAT(mountsOf(hardware, card, backend, ""), testing::IsEmpty());
  }
}

TEST(AllocationResponse, MountsNoSocketWhereTheGroupsNodeIsHandedOver) {
  Hardware hardware;
  hardware.add("0000:01:00.0", 12);
  const UnitId card = at("0000:01:00.0");
  for (const Backend backend : {Backend::kAuto, Backend::kLegacy}) {
    EXPECT_THAT(mountsOf(hardware, card, backend), testing::IsEmpty());
  }
  hardware.device("0000:01:00.0").cdevNode = false;
  EXPECT_THAT(mountsOf(hardware, card, Backend::kAutoIommufd), testing::IsEmpty());
}

TEST(AllocationResponse, RefusesASegmentThatKubevirtCannotRead) {
  Hardware hardware;
  hardware.add("10000:01:00.0", 12);
  const std::set<UnitId> ids{at("10000:01:00.0")};
  const auto response =
      allocationResponse(hardware.snapshot(), kResource, ids, ids, AllocationSettings{});
  ASSERT_FALSE(response);
  EXPECT_EQ(response.error().reason, "segment");
}

TEST(DeviceNodes, NamesAGroupOnceForSeveralOfItsDevices) {
  Hardware hardware;
  hardware.add("0000:01:00.0", 12);
  hardware.add("0000:01:00.1", 12);
  EXPECT_THAT(nodesOf(hardware, {at("0000:01:00.0"), at("0000:01:00.1")}, Backend::kLegacy),
              ElementsAre("/dev/vfio/vfio", "/dev/vfio/12"));
}

TEST(DeviceNodes, FollowsTheBackend) {
  Hardware hardware;
  hardware.add("0000:01:00.0", 12).vfioDev = 5;
  const std::set<UnitId> ids{at("0000:01:00.0")};
  EXPECT_THAT(nodesOf(hardware, ids, Backend::kAuto),
              ElementsAre("/dev/vfio/vfio", "/dev/vfio/12"));
  EXPECT_THAT(nodesOf(hardware, ids, Backend::kIommufd),
              ElementsAre("/dev/iommu", "/dev/vfio/devices/vfio5"));
  EXPECT_THAT(
      nodesOf(hardware, ids, Backend::kBoth),
      ElementsAre("/dev/vfio/vfio", "/dev/vfio/12", "/dev/iommu", "/dev/vfio/devices/vfio5"));
  EXPECT_THAT(nodesOf(hardware, ids, Backend::kAutoIommufd),
              ElementsAre("/dev/iommu", "/dev/vfio/devices/vfio5"));
  hardware.group(12).groupNode = false;
  EXPECT_THAT(nodesOf(hardware, ids, Backend::kAuto),
              ElementsAre("/dev/iommu", "/dev/vfio/devices/vfio5"));
  hardware.group(12).groupNode = true;
  hardware.device("0000:01:00.0").cdevNode = false;
  EXPECT_THAT(nodesOf(hardware, ids, Backend::kAutoIommufd),
              ElementsAre("/dev/vfio/vfio", "/dev/vfio/12"));
}

TEST(DeviceNodes, NamesNoNodeThatIsNotThere) {
  struct Row {
    const char* name;
    void (*spoil)(Hardware&);
    Backend backend;
  };
  const Row rows[] = {
      {"legacy without group node", [](Hardware& h) { h.group(12).groupNode = false; },
       Backend::kLegacy},
      {"legacy without control node", [](Hardware& h) { h.snapshot().controlNode = false; },
       Backend::kLegacy},
      {"iommufd without device node",
       [](Hardware& h) { h.device("0000:01:00.0").cdevNode = false; }, Backend::kIommufd},
      {"iommufd without /dev/iommu", [](Hardware& h) { h.snapshot().iommufdNode = false; },
       Backend::kIommufd},
      {"both without group node", [](Hardware& h) { h.group(12).groupNode = false; },
       Backend::kBoth},
      {"both without device node", [](Hardware& h) { h.device("0000:01:00.0").cdevNode = false; },
       Backend::kBoth},
      {"auto without any control node",
       [](Hardware& h) { h.snapshot().controlNode = h.snapshot().iommufdNode = false; },
       Backend::kAuto},
      {"auto without any node of it",
       [](Hardware& h) {
         h.group(12).groupNode = false;
         h.device("0000:01:00.0").cdevNode = false;
       },
       Backend::kAutoIommufd},
  };
  for (const Row& row : rows) {
    Hardware hardware;
    hardware.add("0000:01:00.0", 12);
    row.spoil(hardware);
    EXPECT_THAT(nodesOf(hardware, {at("0000:01:00.0")}, row.backend), ElementsAre("no-node"))
        << row.name;
  }
}

TEST(DeviceNodes, WithoutAnIommuAreNamedByThatBackendAlone) {
  Hardware hardware;
  hardware.add("0000:01:00.0", 12);
  hardware.add("0000:02:00.0", 13);
  hardware.group(12).noIommu = true;
  for (const Backend other : {Backend::kAuto, Backend::kLegacy, Backend::kIommufd, Backend::kBoth,
                              Backend::kAutoIommufd}) {
    EXPECT_THAT(nodesOf(hardware, {at("0000:01:00.0")}, other), ElementsAre("no-iommu"));
  }
  EXPECT_THAT(nodesOf(hardware, {at("0000:01:00.0")}, Backend::kNoIommu),
              ElementsAre("/dev/vfio/vfio", "/dev/vfio/noiommu-12"));
  EXPECT_THAT(nodesOf(hardware, {at("0000:02:00.0")}, Backend::kNoIommu), ElementsAre("no-node"))
      << "it has an IOMMU";
  hardware.device("0000:01:00.0").answers = false;
  EXPECT_THAT(nodesOf(hardware, {at("0000:01:00.0")}, Backend::kNoIommu),
              ElementsAre("not-answering"))
      << "what else keeps it";
}

TEST(DeviceNodes, NamesWhatKeepsADeviceFromBeingAllocated) {
  Hardware hardware;
  hardware.add("0000:01:00.0", 12).driver = "nvidia";
  hardware.device("0000:01:00.0").vfioDev.reset();
  EXPECT_THAT(nodesOf(hardware, {at("0000:01:00.0")}, Backend::kAuto), ElementsAre("host-driver"));
  EXPECT_THAT(nodesOf(hardware, {at("0000:02:00.0")}, Backend::kAuto), ElementsAre("gone"));
}

}  // namespace
}  // namespace vfiogate
