#include "plugind/core/advertise.h"

#include <gtest/gtest.h>

#include "tests/support/lending_node.h"

namespace vfiogate {
namespace {

using test::LendingNode;
using test::resourceNamed;

constexpr const char* kA = "0000:01:00.0";
constexpr const char* kB = "0000:01:00.1";  // in a's group, like it
constexpr const char* kC = "0000:02:00.0";  // alone
constexpr const char* kD = "0000:03:00.0";

class Advertise : public testing::Test {
protected:
  Advertise() {
    node.hardware.add(kA, 31);
    node.hardware.add(kB, 31);
    node.hardware.add(kC, 32).numaNode = 1;
    node.offer("device=2684", "gpu");
    node.offer("device=2685", "other");
  }

  /// Puts b into the other resource.
  void separate() { node.hardware.device(kB).device = std::uint16_t{0x2685}; }

  std::string gpu() {
    node.refresh();
    return node.frame("gpu");
  }
  std::string other() {
    node.refresh();
    return node.frame("other");
  }

  LendingNode node;
};

TEST_F(Advertise, ShowsOneOfEachFreeGroupsLikeDevices) {
  EXPECT_EQ(gpu(), "0000:01:00.0+ 0000:02:00.0+");
  EXPECT_EQ(other(), "none");
}

TEST_F(Advertise, ShowsEveryModelAndResourceOfAFreeGroup) {
  separate();
  node.hardware.add("0000:01:00.2", 31).vendor = std::uint16_t{0x10df};
  EXPECT_EQ(gpu(), "0000:01:00.0+ 0000:01:00.2+ 0000:02:00.0+");
  EXPECT_EQ(other(), "0000:01:00.1+");
}

TEST_F(Advertise, TellsTheNumaNode) {
  node.refresh();
  const Frame& frame = node.shown.frames.at(resourceNamed("gpu"));
  EXPECT_EQ(frame.devices[0].numaNode, std::nullopt);
  EXPECT_EQ(frame.devices[1].numaNode, 1U);
  node.hardware.remove(kC);
  node.refresh();
  EXPECT_EQ(node.shown.frames.at(resourceNamed("gpu")).devices[1].numaNode, 1U) << "gone";
}

TEST_F(Advertise, I4HeldStaysHealthyThroughEverythingButItsOwnEnd) {
  node.refresh();
  ASSERT_TRUE(node.allocate("gpu", {kA}));
  EXPECT_EQ(gpu(), "0000:01:00.0+ 0000:02:00.0+");
  node.hardware.group(31).use = GroupUse::kOpen;
  node.hardware.device(kA).driver = "nvidia";
  node.hardware.device(kA).vfioDev.reset();
  EXPECT_EQ(gpu(), "0000:01:00.0+ 0000:02:00.0+") << "bound back by hand";
  node.hardware.device(kA).vendor.reset();
  EXPECT_EQ(gpu(), "0000:01:00.0+ 0000:02:00.0+") << "an attribute is broken";
  node.settings.resources.clear();
  EXPECT_EQ(gpu(), "0000:01:00.0+ 0000:02:00.0-") << "nothing is configured any more";
  node.refresh(Lending::kClosed);
  EXPECT_EQ(node.frame("gpu"), "0000:01:00.0+ 0000:02:00.0-") << "privd is away";
  node.hardware.device(kA).answers = false;
  EXPECT_EQ(gpu(), "0000:01:00.0- 0000:02:00.0-") << "broken";
  node.hardware.remove(kA);
  EXPECT_EQ(gpu(), "0000:01:00.0- 0000:02:00.0-") << "gone";
}

TEST_F(Advertise, I4WhatAReofferLeftOutStaysHealthy) {
  node.refresh();
  node.shown.frames[resourceNamed("gpu")].devices.push_back({kB, true, std::nullopt});
  ASSERT_TRUE(node.allocate("gpu", {kA, kB}));
  ASSERT_TRUE(node.allocate("gpu", {kA}));
  EXPECT_EQ(gpu(), "0000:01:00.0+ 0000:01:00.1+ 0000:02:00.0+");
}

TEST_F(Advertise, I1SiblingsTurnUnhealthyInEveryResourceFromTheTakingOn) {
  separate();
  node.refresh();
  const auto ticket = node.take("gpu", {kA});
  ASSERT_TRUE(ticket);
  EXPECT_EQ(gpu(), "0000:01:00.0+ 0000:02:00.0+");
  EXPECT_EQ(other(), "0000:01:00.1-");
  node.ledger.cancel(*ticket);
  EXPECT_EQ(other(), "0000:01:00.1+");
  ASSERT_TRUE(node.allocate("gpu", {kA}));
  EXPECT_EQ(other(), "0000:01:00.1-");
}

TEST_F(Advertise, DoesNotShowADeviceForTheFirstTimeWhileItsGroupIsLent) {
  node.refresh();
  ASSERT_TRUE(node.allocate("gpu", {kA}));
  separate();
  EXPECT_EQ(gpu(), "0000:01:00.0+ 0000:02:00.0+");
  EXPECT_EQ(other(), "none");
}

TEST_F(Advertise, RepresentativeStaysWhenALowerOneAppears) {
  node.hardware.remove(kA);
  EXPECT_EQ(gpu(), "0000:01:00.1+ 0000:02:00.0+");
  node.hardware.add(kA, 31);
  EXPECT_EQ(gpu(), "0000:01:00.1+ 0000:02:00.0+");
  node.refresh(Lending::kClosed);
  EXPECT_EQ(node.frame("gpu"), "0000:01:00.1- 0000:02:00.0-");
  EXPECT_EQ(gpu(), "0000:01:00.1+ 0000:02:00.0+") << "privd is back";
}

TEST_F(Advertise, I4T5AnotherTakesOverFromABadRepresentativeWhichStaysUnhealthy) {
  node.refresh();
  node.hardware.device(kA).answers = false;
  EXPECT_EQ(gpu(), "0000:01:00.0- 0000:01:00.1+ 0000:02:00.0+");
  node.hardware.device(kA).answers = true;
  EXPECT_EQ(gpu(), "0000:01:00.0- 0000:01:00.1+ 0000:02:00.0+");
}

TEST_F(Advertise, RepresentativeIsRatherOneThatIsShownAnyway) {
  node.hardware.add("0000:01:00.2", 31);
  node.refresh();
  node.hardware.device(kA).answers = false;
  EXPECT_EQ(gpu(), "0000:01:00.0- 0000:01:00.1+ 0000:02:00.0+");
  node.hardware.device(kA).answers = true;
  node.hardware.device(kB).answers = false;
  EXPECT_EQ(gpu(), "0000:01:00.0+ 0000:01:00.1- 0000:02:00.0+");
}

TEST_F(Advertise, T5WhatWasShownOnceStaysWhenItIsGone) {
  node.refresh();
  node.hardware.remove(kC);
  EXPECT_EQ(gpu(), "0000:01:00.0+ 0000:02:00.0-");
  node.hardware.remove(kA);
  node.hardware.remove(kB);
  EXPECT_EQ(gpu(), "0000:01:00.0- 0000:02:00.0-");
  node.hardware.add(kC, 99);
  EXPECT_EQ(gpu(), "0000:01:00.0- 0000:02:00.0+");
}

TEST_F(Advertise, T37ADeviceStaysWithTheResourceThatShowedIt) {
  node.refresh();
  node.hardware.device(kC).device = std::uint16_t{0x2685};  // another card at the same address
  EXPECT_EQ(gpu(), "0000:01:00.0+ 0000:02:00.0-");
  EXPECT_EQ(other(), "none");
}

TEST_F(Advertise, I2HotplugChangesAFrame) {
  node.refresh();
  node.hardware.add(kD, 33);
  EXPECT_EQ(gpu(), "0000:01:00.0+ 0000:02:00.0+ 0000:03:00.0+");
}

TEST_F(Advertise, UnhealthyIsWhatCannotBeLent) {
  struct Row {
    const char* name;
    void (*spoil)(test::Hardware&);
  };
  const Row rows[] = {
      {"no driver", [](auto& h) { h.device(kC).driver.clear(), h.device(kC).vfioDev.reset(); }},
      {"not answering", [](auto& h) { h.device(kC).answers = false; }},
      {"member on host driver",
       [](auto& h) {
         h.add("0000:02:00.1", 32).driver = "snd_hda_intel";
         h.device("0000:02:00.1").vfioDev.reset();
         h.device("0000:02:00.1").classCode = 0x040300;
       }},
      {"no-IOMMU", [](auto& h) { h.group(32).noIommu = true; }},
      {"no nodes", [](auto& h) { h.group(32).groupNode = h.device(kC).cdevNode = false; }},
      {"open by a stranger", [](auto& h) { h.group(32).use = GroupUse::kOpen; }},
      {"no group",
       [](auto& h) {
         h.snapshot().groups.erase(IommuGroupId(32));
         h.device(kC).group.reset();
       }},
  };
  for (const Row& row : rows) {
    LendingNode one;
    one.hardware.add(kC, 32);
    one.offer("device=2684", "gpu");
    row.spoil(one.hardware);
    one.refresh();
    EXPECT_EQ(one.frame("gpu"), "0000:02:00.0-") << row.name;
  }
}

TEST_F(Advertise, I3WithoutPrivdOnlyHeldDevicesAreHealthy) {
  node.refresh();
  ASSERT_TRUE(node.allocate("gpu", {kC}));
  node.refresh(Lending::kClosed);
  EXPECT_EQ(node.frame("gpu"), "0000:01:00.0- 0000:02:00.0+");
}

TEST_F(Advertise, SortsByIdAcrossSegmentsOfDifferentWidth) {
  node.hardware.add("10000:00:00.0", 40);
  node.settings.resources[0].lending.kubevirtVariable = false;
  EXPECT_EQ(gpu(), "0000:01:00.0+ 0000:02:00.0+ 10000:00:00.0+");
}

}  // namespace
}  // namespace vfiogate
