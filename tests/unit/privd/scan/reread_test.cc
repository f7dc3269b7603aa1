// Rereads of single places, and what belongs to them.

#include "privd/scan/pci_scan.h"

#include "tests/support/fake_sysfs.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <iostream>
#include <random>

namespace vfiogate {
namespace {

Bdf at(const std::string& address) {
  return *Bdf::parse(address);
}

class RereadTest : public testing::Test {
protected:
  ~RereadTest() noexcept override = default;

  Snapshot whole() { return *scan(sysfs_, dev_); }
  bool rereadAt(const std::string& address) {
    return reread(sysfs_, dev_, {.devices = {at(address)}, .groups = {}}, seen_);
  }

  FakeSysfs tree_;
  SysfsRoot sysfs_ = SysfsRoot::open(tree_.sysfs()).value();
  DevRoot dev_ = DevRoot::open(tree_.dev()).value();
  Snapshot seen_;
};

TEST_F(RereadTest, ADeviceThatCameBringsItsGroup) {
  tree_.add({.address = "0000:01:00.0", .group = 7});
  EXPECT_TRUE(rereadAt("0000:01:00.0"));
  EXPECT_EQ(seen_, whole());
  EXPECT_FALSE(rereadAt("0000:01:00.0")) << "nothing is new";
}

TEST_F(RereadTest, ADeviceThatWentTakesItsGroupAlong) {
  tree_.add({.address = "0000:01:00.0", .group = 7});
  seen_ = whole();
  tree_.remove("0000:01:00.0");
  EXPECT_TRUE(rereadAt("0000:01:00.0"));
  EXPECT_EQ(seen_, whole());
}

TEST_F(RereadTest, BothGroupsOfADeviceThatMovedAreSeen) {
  tree_.add({.address = "0000:01:00.0", .group = 7});
  tree_.add({.address = "0000:02:00.0", .group = 7});
  tree_.add({.address = "0000:03:00.0", .group = 9});
  seen_ = whole();
  tree_.setGroup("0000:02:00.0", 9);
  EXPECT_TRUE(rereadAt("0000:02:00.0"));
  EXPECT_EQ(seen_, whole());
}

TEST_F(RereadTest, AGroupsNewMembersAreSeenWithIt) {
  tree_.add({.address = "0000:01:00.0", .group = 7});
  seen_ = whole();
  tree_.add({.address = "0000:01:00.1", .group = 7});
  EXPECT_TRUE(reread(sysfs_, dev_, {.devices = {}, .groups = {IommuGroupId(7)}}, seen_));
  EXPECT_EQ(seen_, whole());
}

TEST_F(RereadTest, AnOpenedMemberMakesItsGroupOpen) {
  tree_.add({.address = "0000:01:00.0", .group = 7});
  tree_.add({.address = "0000:01:00.1", .group = 7});
  seen_ = whole();
  tree_.setEnable("0000:01:00.1", 1);
  EXPECT_TRUE(rereadAt("0000:01:00.1"));
  EXPECT_EQ(seen_.groups.at(IommuGroupId(7)).use, GroupUse::kOpen);
  EXPECT_EQ(seen_, whole());
}

TEST_F(RereadTest, WhatItDoesNotNameIsLeftAsItWas) {
  tree_.add({.address = "0000:01:00.0", .group = 7});
  tree_.add({.address = "0000:02:00.0", .group = 8});
  seen_ = whole();
  tree_.setDriver("0000:02:00.0", "nvidia");
  EXPECT_FALSE(rereadAt("0000:01:00.0"));
  EXPECT_EQ(seen_.devices.at(at("0000:02:00.0")).driver, "vfio-pci");
}

/// A kernel before 6.1 shows the group in class/vfio, and nothing below the device.
class RereadOldKernel : public RereadTest {
protected:
  ~RereadOldKernel() noexcept override = default;
  void addOld(const std::string& address, const std::string& driver) {
    tree_.add({.address = address, .driver = driver, .group = 7});
    std::filesystem::remove_all(tree_.directoryOf(address) / "vfio-dev");
  }
  void showVfioGroup() {
    std::filesystem::create_directories(std::filesystem::path(tree_.sysfs()) / "class/vfio/7");
  }
  bool offers(const std::string& address) { return offersVfio(whole().devices.at(at(address))); }
};

TEST_F(RereadOldKernel, AVfioGroupTellsThatTheDriverOffersVfio) {
  addOld("0000:01:00.0", "some-variant");
  EXPECT_FALSE(offers("0000:01:00.0"));
  showVfioGroup();
  EXPECT_TRUE(offers("0000:01:00.0"));
  seen_ = whole();
  EXPECT_FALSE(rereadAt("0000:01:00.0")) << "nothing is new";
}

TEST_F(RereadOldKernel, OfTwoDriversItDoesNotTellWhichOne) {
  addOld("0000:01:00.0", "vfio-pci");
  addOld("0000:01:00.1", "snd_hda_intel");
  showVfioGroup();
  EXPECT_FALSE(offers("0000:01:00.0"));
  EXPECT_FALSE(offers("0000:01:00.1"));
  tree_.setDriver("0000:01:00.1", "");
  EXPECT_TRUE(offers("0000:01:00.0"));
  EXPECT_FALSE(offers("0000:01:00.1"));
}

TEST_F(RereadOldKernel, WhereVfioDevIsTheGroupSaysNothing) {
  addOld("0000:01:00.0", "nvidia");
  showVfioGroup();
  std::filesystem::create_directories(std::filesystem::path(tree_.sysfs()) / "class/vfio-dev");
  EXPECT_FALSE(offers("0000:01:00.0"));
}

TEST_F(RereadTest, I9_AfterEachOfManyChangesOneRereadSeesWhatAScanSees) {
  const unsigned seed = std::random_device{}();
  std::cout << "seed " << seed << "\n";
  std::mt19937 random(seed);
  const auto below = [&random](unsigned most) {
    return std::uniform_int_distribution<unsigned>(0, most - 1)(random);
  };
  std::set<std::string> present;
  for (int step = 0; step < 500; ++step) {
    const std::string address = "0000:0" + std::to_string(below(6)) + ":00.0";
    if (!present.contains(address)) {
      tree_.add({.address = address, .group = below(4)});
      present.insert(address);
    } else if (below(3) == 0) {
      tree_.remove(address);
      present.erase(address);
    } else if (below(2) == 0) {
      tree_.setGroup(address, below(4));
    } else if (below(2) == 0) {
      tree_.setDriver(address, below(2) == 0 ? "nvidia" : "vfio-pci");
    } else {
      tree_.setEnable(address, below(2));
    }
    const Snapshot before = seen_;
    const bool changed = rereadAt(address);
    ASSERT_EQ(seen_, whole()) << "step " << step << ", seed " << seed;
    ASSERT_EQ(changed, before != seen_) << "step " << step << ", seed " << seed;
  }
}

}  // namespace
}  // namespace vfiogate
