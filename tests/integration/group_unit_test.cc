// groupUnit and companions as the kubelet sees them, through the two real programs.

#include "tests/integration/split_case.h"

#include <gmock/gmock.h>

namespace vfiogate::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

const std::string kCards = "vfiogate.dev/cards";
const std::string kSounds = "vfiogate.dev/sounds";
const std::string kA = "0000:01:00.0";  // of group 7, with the next
const std::string kB = "0000:01:00.1";
const std::string kSound = "0000:01:00.2";  // of group 7, a companion
const std::string kC = "0000:02:00.0";      // alone in group 8

class GroupUnits : public SplitCase {
protected:
  void layOut(FakeSysfs& hardware) override {
    hardware.add({.address = kA});
    hardware.add({.address = kB});
    hardware.add({.address = kSound, .device = 0x22ba, .classCode = 0x040300});
    hardware.add({.address = kC, .group = 8});
  }

  void start(const std::string& how) {
    node_->kubelet.start();
    ASSERT_TRUE(node_->startPlugind(
        "resources:\n  - {name: " + kCards + ", select: {device: \"2684\"}, " + how +
        "}\n  - {name: " + kSounds + ", select: {class: \"0403\"}, " + how + "}\n"))
        << node_->said();
    ASSERT_TRUE(node_->startPrivd()) << node_->said();
  }
  bool shows(const std::string& resource, const std::set<std::string>& healthy,
             const std::set<std::string>& unhealthy = {}) {
    return node_->kubelet.shows(resource, healthy, unhealthy);
  }
};

TEST_F(GroupUnits, OneShowsARepresentativeAndNoCompanion) {
  start("groupUnit: one");
  EXPECT_TRUE(shows(kCards, {kA, kC})) << node_->said();
  EXPECT_FALSE(node_->kubelet.devices(kSounds).healthy().contains(kSound));
}

// I1.
TEST_F(GroupUnits, AllWithdrawsTheSiblingsInEveryResourceOnLiveStreams) {
  start("groupUnit: all, companions: advertise");
  ASSERT_TRUE(shows(kCards, {kA, kB, kC})) << node_->said();
  ASSERT_TRUE(shows(kSounds, {kSound})) << node_->said();
  std::string error;
  node_->kubelet.offer(kCards, {kB}, error);
  ASSERT_EQ(error, "") << node_->said();
  EXPECT_TRUE(shows(kCards, {kB, kC}, {kA})) << node_->said();
  EXPECT_TRUE(shows(kSounds, {}, {kSound})) << node_->said();
  for (const auto& [resource, id] : {std::pair{kCards, kA}, std::pair{kSounds, kSound}}) {
    node_->kubelet.offer(resource, {id}, error);
    EXPECT_THAT(error, HasSubstr("group-allocated"));
    EXPECT_THAT(error, HasSubstr("ref="));
    EXPECT_EQ(node_->kubelet.streamsEnded(resource), 0U);
  }
}

TEST_F(GroupUnits, WholeIsOneIdWithAllOfTheGroupsDevices) {
  start("groupUnit: whole");
  ASSERT_TRUE(shows(kCards, {kA, kC})) << node_->said();
  std::string error;
  const auto granted = node_->kubelet.offer(kCards, {kA}, error);
  ASSERT_EQ(error, "") << node_->said();
  EXPECT_TRUE(node_->tells("allocated", kA)) << node_->said();
  EXPECT_EQ(granted.response.envs().at("PCI_RESOURCE_VFIOGATE_DEV_CARDS"), kA);
  EXPECT_EQ(granted.response.devices_size(), 2) << "/dev/vfio/vfio and the group's node";
}

/// Grace: two GPUs of one socket in groups of their own, which share /dev/egm4.
class ExtendedMemory : public GroupUnits {
protected:
  void layOut(FakeSysfs& hardware) override {
    hardware.add({.address = kA});
    hardware.add({.address = kC, .group = 8});
    hardware.addEgm(4, {kA, kC});
  }

  std::vector<std::string> nodesOf(const std::vector<std::string>& ids) {
    std::string error;
    const auto granted = node_->kubelet.offer(kCards, ids, error);
    EXPECT_EQ(error, "") << node_->said();
    std::vector<std::string> nodes;
    for (const auto& device : granted.response.devices()) nodes.push_back(device.host_path());
    return nodes;
  }
};

// I1: the memory is one for both.
TEST_F(ExtendedMemory, GoesAlongWithAllGpusOfItsRegion) {
  start("groupUnit: one");
  ASSERT_TRUE(shows(kCards, {kA, kC})) << node_->said();
  EXPECT_THAT(nodesOf({kA, kC}),
              ElementsAre("/dev/vfio/vfio", "/dev/vfio/7", "/dev/vfio/8", "/dev/egm4"));
}

TEST_F(ExtendedMemory, StaysBehindWhereOneOfThemDoes) {
  start("groupUnit: one");
  ASSERT_TRUE(shows(kCards, {kA, kC})) << node_->said();
  EXPECT_THAT(nodesOf({kA}), ElementsAre("/dev/vfio/vfio", "/dev/vfio/7"));
}

}  // namespace
}  // namespace vfiogate::test
