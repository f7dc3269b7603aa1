#include "plugind/core/ledger/locality.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/ledger_node.h"

namespace vfiogate {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::IsEmpty;

/// Two PCIe roots of one NUMA node, each with two cards and a network card.
class LocalityTest : public testing::Test {
protected:
  LocalityTest() {
    add("0000:18:00.0", 1, 0x030200);
    add("0000:19:00.0", 2, 0x030200);
    add("0000:1a:00.0", 3, 0x020000);
    add("0000:3b:00.0", 4, 0x030200);
    add("0000:3c:00.0", 5, 0x030200);
    add("0000:3d:00.0", 6, 0x020000);
    node_.offer("class=0302", "gpu").allocation.besideNic = true;
    node_.offer("class=02", "nic");
  }

  void add(const char* address, std::uint32_t group, std::uint32_t classCode) {
    PciDevice& device = node_.hardware.add(address, group);
    device.classCode = classCode;
    device.numaNode = 0;
    device.pcieRoot = address < std::string("0000:20") ? "pci0000:17" : "pci0000:3a";
  }

  Locality of(std::string_view name) {
    return localityOf(node_.ledger.state(), test::resource(name), node_.now.instant);
  }

  /// What a pod that wants `size` of a resource gets of what the kubelet believes free.
  std::vector<std::string> preferred(std::string_view name, std::set<std::string> available,
                                     std::size_t size) {
    const Locality locality = of(name);
    return preferredDevices(
        {.available = std::move(available), .size = size, .beside = locality.beside},
        locality.candidates);
  }

  const std::set<std::string> gpus_{"0000:18:00.0", "0000:19:00.0", "0000:3b:00.0", "0000:3c:00.0"};
  const std::set<std::string> nics_{"0000:1a:00.0", "0000:3d:00.0"};
  test::LedgerNode node_;
};

TEST_F(LocalityTest, ACardIsChosenWhereANetworkCardIsFree) {
  node_.start();
  EXPECT_THAT(preferred("gpu", gpus_, 1), ElementsAre("0000:18:00.0"));
  ASSERT_EQ(node_.allocate("nic", {"0000:1a:00.0"}), "granted");
  node_.pass(5s);
  EXPECT_THAT(preferred("gpu", gpus_, 1), ElementsAre("0000:3b:00.0"));
  EXPECT_THAT(preferred("gpu", gpus_, 2), ElementsAre("0000:3b:00.0", "0000:3c:00.0"));
}

TEST_F(LocalityTest, OneContainersDevicesAreBelowOneRoot) {
  node_.start();
  ASSERT_EQ(node_.allocate("gpu", {"0000:3c:00.0"}), "granted");
  EXPECT_THAT(of("nic").beside, ElementsAre("0000:3c:00.0"));
  EXPECT_THAT(preferred("nic", nics_, 1), ElementsAre("0000:3d:00.0"));
  // A card that was given out before is no reason for the next one of its resource.
  EXPECT_THAT(of("gpu").beside, IsEmpty());
  node_.pass(1001ms);
  EXPECT_THAT(of("nic").beside, IsEmpty());
  EXPECT_THAT(preferred("nic", nics_, 1), ElementsAre("0000:1a:00.0"));
}

TEST_F(LocalityTest, WhatTheKubeletHasOnRecordIsAnotherContainers) {
  node_.start();
  ASSERT_EQ(node_.allocate("gpu", {"0000:3c:00.0"}), "granted");
  node_.pass(100ms);
  node_.record("pod", "gpu", {"0000:3c:00.0"});
  node_.write();
  EXPECT_THAT(of("nic").beside, IsEmpty());
}

TEST_F(LocalityTest, WithoutAlignWithNothingIsBeside) {
  node_.settings.resources[0].allocation.besideNic = false;
  node_.start();
  ASSERT_EQ(node_.allocate("gpu", {"0000:3c:00.0"}), "granted");
  EXPECT_THAT(of("nic").beside, IsEmpty());
  for (const auto& [id, candidate] : of("gpu").candidates) {
    EXPECT_FALSE(candidate.besideNic) << id;
    EXPECT_EQ(candidate.doubtful, id == "0000:3c:00.0") << id;
  }
}

TEST_F(LocalityTest, AMediatedDeviceIsBelowItsParentsRoot) {
  const std::string uuid = "83b8f4f2-509f-382f-3c1e-e6bfe0fa1001";
  node_.hardware.addMediated(uuid, "0000:3c:00.0", "nvidia-711", 60);
  node_.start();
  ASSERT_TRUE(of("gpu").candidates.contains(uuid));
  EXPECT_EQ(of("gpu").candidates.at(uuid).root, "pci0000:3a");
  EXPECT_TRUE(of("gpu").candidates.at(uuid).besideNic);
}

}  // namespace
}  // namespace vfiogate
