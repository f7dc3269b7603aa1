#include "privd/cdi/cdi_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <kj/async-io.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "privd/scan/pci_scan.h"
#include "sim/base/temp_dir.h"
#include "tests/support/fake_sysfs.h"
#include "tests/support/small_disk.h"

namespace vfiogate {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::IsEmpty;
using Kind = SpecOutcome::Kind;

constexpr const char* kOne = "0000:01:00.0";
constexpr const char* kTwo = "0000:02:00.0";
constexpr const char* kGpu = "vfiogate.dev/gpu";

class CdiStoreTest : public testing::Test {
protected:
  CdiStoreTest() {
    fs::create_directory(dir_ / "cdi");
    tree_.add({.address = kOne, .group = 12});
    tree_.add({.address = kTwo, .group = 13});
  }
  ~CdiStoreTest() noexcept override = default;

  static kj::Vector<kj::String> prefixes() {
    kj::Vector<kj::String> result;
    result.add(kj::str("vfiogate.dev/"));
    return result;
  }
  static StaticSpec spec(const std::string& resource, const std::vector<const char*>& devices) {
    StaticSpec made{.resource = resource, .devices = {}};
    for (const char* device : devices) made.devices.push_back(*Bdf::parse(device));
    return made;
  }
  std::vector<SpecOutcome> declare(const std::vector<StaticSpec>& specs) {
    return store_.declare(specs, *scan(sysfs_, dev_));
  }
  std::string pathOf(const std::string& resource) {
    return dir_ / ("cdi/" + specFileName(*ResourceName::parse(resource)));
  }
  /// The nodes of each device of the resource's spec; empty: there is none.
  std::map<std::string, std::vector<std::string>> onDisk(const std::string& resource) {
    std::map<std::string, std::vector<std::string>> devices;
    std::ifstream file(pathOf(resource));
    if (!file) return devices;
    const auto json = nlohmann::json::parse(file);
    EXPECT_EQ(json["kind"], resource);
    for (const auto& device : json["devices"]) {
      for (const auto& node : device["containerEdits"]["deviceNodes"]) {
        devices[device["name"]].push_back(node["path"]);
      }
    }
    return devices;
  }
  std::size_t files() {
    return static_cast<std::size_t>(std::distance(fs::directory_iterator(dir_ / "cdi"), {}));
  }

  TempDir dir_;
  FakeSysfs tree_;
  SysfsRoot sysfs_ = SysfsRoot::open(tree_.sysfs()).value();
  DevRoot dev_ = DevRoot::open(tree_.dev()).value();
  kj::AsyncIoContext io_ = kj::setupAsyncIo();
  KubeletGate gate_{io_.unixEventPort, io_.provider->getTimer(), dir_.path().c_str(), prefixes()};
  CdiStore store_{dir_ / "cdi", gate_, dev_};
};

using Nodes = std::vector<std::string>;
using Devices = std::map<std::string, Nodes>;

TEST_F(CdiStoreTest, WritesTheNodesThatItFindsItself) {
  const auto outcomes = declare({spec(kGpu, {kOne, kTwo})});
  ASSERT_EQ(outcomes.size(), 1U);
  EXPECT_EQ(outcomes[0].kind, Kind::kInPlace);
  ASSERT_EQ(outcomes[0].devices.size(), 2U);
  EXPECT_THAT(outcomes[0].devices[0].nodes, ElementsAre("/dev/vfio/vfio", "/dev/vfio/12"));
  EXPECT_EQ(onDisk(kGpu), (Devices{{kOne, Nodes{"/dev/vfio/vfio", "/dev/vfio/12"}},
                                   {kTwo, Nodes{"/dev/vfio/vfio", "/dev/vfio/13"}}}));
}

TEST_F(CdiStoreTest, LeavesADeviceOutWhoseNodeIsNotThere) {
  fs::remove(tree_.dev() + "/vfio/13");
  const auto outcomes = declare({spec(kGpu, {kOne, kTwo, "0000:09:00.0"})});
  ASSERT_EQ(outcomes[0].devices.size(), 3U);
  EXPECT_THAT(outcomes[0].devices[1].nodes, IsEmpty());
  EXPECT_THAT(outcomes[0].devices[2].nodes, IsEmpty()) << "there is no such device";
  EXPECT_EQ(onDisk(kGpu).size(), 1U);
}

TEST_F(CdiStoreTest, ChecksEachNodeOnceMore) {
  const Snapshot earlier = *scan(sysfs_, dev_);
  fs::remove(tree_.dev() + "/vfio/13");
  const auto outcomes = store_.declare({spec(kGpu, {kTwo})}, earlier);
  EXPECT_EQ(outcomes[0].kind, Kind::kInPlace);
  EXPECT_THAT(outcomes[0].devices.at(0).nodes, IsEmpty());
}

TEST_F(CdiStoreTest, FollowsADeviceToItsNewGroup) {
  declare({spec(kGpu, {kOne, kTwo})});
  tree_.setGroup(kOne, 40);
  declare({spec(kGpu, {kOne, kTwo})});
  EXPECT_EQ(onDisk(kGpu)[kOne], (Nodes{"/dev/vfio/vfio", "/dev/vfio/40"}));
}

TEST_F(CdiStoreTest, ASpecWithoutAnyDeviceIsNoFile) {
  declare({spec(kGpu, {kOne})});
  tree_.remove(kOne);
  EXPECT_EQ(declare({spec(kGpu, {kOne})})[0].kind, Kind::kInPlace);
  EXPECT_FALSE(fs::exists(pathOf(kGpu)));
}

TEST_F(CdiStoreTest, WholeGroupsHandOverTheNodesOfAllTheirDeclaredMembers) {
  tree_.add({.address = "0000:03:00.0", .group = 20});
  tree_.add({.address = "0000:03:00.1", .group = 20});
  for (const char* name : {"iommu", "vfio/devices/vfio0", "vfio/devices/vfio1"}) {
    fs::create_directories(fs::path(tree_.dev() + "/" + name).parent_path());
    ASSERT_EQ(mknod((tree_.dev() + "/" + name).c_str(), S_IFCHR | 0600, 0x103), 0) << name;
  }
  Snapshot hardware = *scan(sysfs_, dev_);
  std::uint32_t number = 0;
  for (const char* address : {"0000:03:00.0", "0000:03:00.1"}) {
    hardware.devices.at(*Bdf::parse(address)).vfioDev = number++;
    hardware.devices.at(*Bdf::parse(address)).cdevNode = true;
  }
  hardware.iommufdNode = true;
  StaticSpec whole = spec(kGpu, {"0000:03:00.0", "0000:03:00.1"});
  whole.backend = Backend::kIommufd;
  whole.wholeGroups = true;
  store_.declare({whole}, hardware);
  const Nodes both{"/dev/iommu", "/dev/vfio/devices/vfio0", "/dev/vfio/devices/vfio1"};
  EXPECT_EQ(onDisk(kGpu), (Devices{{"0000:03:00.0", both}, {"0000:03:00.1", both}}));
  whole.wholeGroups = false;
  store_.declare({whole}, hardware);
  EXPECT_EQ(onDisk(kGpu)["0000:03:00.1"], (Nodes{"/dev/iommu", "/dev/vfio/devices/vfio1"}));
}

TEST_F(CdiStoreTest, UnlinksWhatIsDeclaredNoMoreAndNobodyElsesFiles) {
  declare({spec(kGpu, {kOne}), spec("vfiogate.dev/nic", {kTwo})});
  const std::vector<std::string> foreign{"nvidia.com-gpu.json", "vfiogate-claim-1.json",
                                         "vfiogate.json"};
  for (const std::string& name : foreign) std::ofstream(dir_ / ("cdi/" + name)) << "{}";
  std::ofstream(dir_ / "cdi/.vfiogate-0123456789abcdef.json.tmp") << "{";
  declare({spec("vfiogate.dev/nic", {kTwo})});
  EXPECT_FALSE(fs::exists(pathOf(kGpu)));
  EXPECT_TRUE(fs::exists(pathOf("vfiogate.dev/nic")));
  for (const std::string& name : foreign) EXPECT_TRUE(fs::exists(dir_ / ("cdi/" + name))) << name;
  EXPECT_EQ(files(), foreign.size() + 1) << "what a privd left that died while it wrote is gone";
  declare({});
  EXPECT_EQ(files(), foreign.size());
}

TEST_F(CdiStoreTest, RefusesNamesThatAreNotPlugindsOrNotCdis) {
  const auto outcomes = declare({spec("gpu", {kOne}), spec("vfiogate.dev/10de_2684", {kOne}),
                                 spec("vfiogate.dev/a.b", {kOne}), spec("nvidia.com/gpu", {kOne}),
                                 spec("vfiogate.dev/../../etc", {kOne}), spec(kGpu, {kOne})});
  std::vector<Kind> kinds;
  for (const SpecOutcome& outcome : outcomes) kinds.push_back(outcome.kind);
  EXPECT_THAT(kinds, ElementsAre(Kind::kBadName, Kind::kNotKind, Kind::kNotKind,
                                 Kind::kForeignPrefix, Kind::kBadName, Kind::kInPlace));
  EXPECT_EQ(files(), 1U);
}

TEST_F(CdiStoreTest, NoDirectoryIsAnErrnoForEachSpec) {
  fs::remove(dir_ / "cdi");
  const auto outcomes = declare({spec(kGpu, {kOne}), spec("vfiogate.dev/nic", {kTwo})});
  for (const SpecOutcome& outcome : outcomes) {
    EXPECT_EQ(outcome.kind, Kind::kFailed);
    EXPECT_EQ(outcome.error, ENOENT);
  }
}

TEST_F(CdiStoreTest, WhatCannotBeWrittenIsAnErrnoAndHurtsNoOtherResource) {
  fs::create_directory(pathOf(kGpu));
  const auto outcomes = declare({spec(kGpu, {kOne}), spec("vfiogate.dev/nic", {kTwo})});
  EXPECT_EQ(outcomes[0].kind, Kind::kFailed);
  EXPECT_EQ(outcomes[0].error, EISDIR);
  EXPECT_EQ(outcomes[1].kind, Kind::kInPlace);
  EXPECT_TRUE(fs::exists(pathOf("vfiogate.dev/nic")));
}

TEST_F(CdiStoreTest, AFullDiskIsAnErrnoAndNoOutdatedSpecStaysOnIt) {
  const test::SmallDisk disk(dir_ / "cdi");
  if (!disk.mounted()) GTEST_SKIP() << "cannot mount: no rights";
  ASSERT_EQ(declare({spec(kGpu, {kOne})})[0].kind, Kind::kInPlace);
  disk.fill();
  tree_.setGroup(kOne, 40);
  const auto outcomes = declare({spec(kGpu, {kOne})});
  EXPECT_EQ(outcomes[0].kind, Kind::kFailed);
  EXPECT_EQ(outcomes[0].error, ENOSPC);
  EXPECT_FALSE(fs::exists(pathOf(kGpu))) << "its group may be another device's now";
  disk.empty();
  EXPECT_EQ(declare({spec(kGpu, {kOne})})[0].kind, Kind::kInPlace);
  EXPECT_EQ(onDisk(kGpu)[kOne], (Nodes{"/dev/vfio/vfio", "/dev/vfio/40"}));
}

TEST_F(CdiStoreTest, OnAReadOnlyDiskWhatIsRightAlreadyIsInPlace) {
  const test::SmallDisk disk(dir_ / "cdi");
  if (!disk.mounted()) GTEST_SKIP() << "cannot mount: no rights";
  declare({spec(kGpu, {kOne})});
  ASSERT_TRUE(disk.setReadOnly());
  const auto outcomes = declare({spec(kGpu, {kOne}), spec("vfiogate.dev/nic", {kTwo})});
  EXPECT_EQ(outcomes[0].kind, Kind::kInPlace);
  EXPECT_EQ(outcomes[1].kind, Kind::kFailed);
  EXPECT_EQ(outcomes[1].error, EROFS);
}

}  // namespace
}  // namespace vfiogate
