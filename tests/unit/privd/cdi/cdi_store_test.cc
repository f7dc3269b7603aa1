#include "privd/cdi/cdi_store.h"

#include "privd/cdi/cdi_spec.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "sim/base/temp_dir.h"
#include "tests/support/small_disk.h"

static int syncs = 0;

/// In place of the C library's: nothing here outlives the machine.
extern "C" int fsync(int /*fd*/) {
  ++syncs;
  return 0;
}

namespace vfiogate {
namespace {

namespace fs = std::filesystem;
using Nodes = std::vector<std::string>;

constexpr const char* kOne = "0000:01:00.0";
constexpr const char* kTwo = "0000:02:00.0";
constexpr const char* kGpu = "vfiogate.dev/gpu";
constexpr const char* kNic = "vfiogate.dev/nic";

class CdiStoreTest : public testing::Test {
protected:
  CdiStoreTest() { fs::create_directory(dir_ / "cdi"); }
  ~CdiStoreTest() noexcept override = default;

  /// Each device in the group of its number.
  static StaticSpecText spec(const std::string& resource,
                             const std::map<std::string, std::uint32_t>& groups) {
    StaticSpecText made{.resource = resource, .nodeSets = {}, .devices = {}};
    for (const auto& [address, group] : groups) {
      made.devices.push_back(
          {*Bdf::parse(address), static_cast<std::uint16_t>(made.nodeSets.size())});
      made.nodeSets.push_back({{SpecNode::Kind::kContainer, 0}, {SpecNode::Kind::kGroup, group}});
    }
    return made;
  }
  bool puts(const StaticSpecText& text) { return store_.put(text).has_value(); }
  gate::Code refusal(const std::string& resource) {
    return store_.put(spec(resource, {{kOne, 12}})).error().code;
  }
  /// The errno of what failed.
  int failure(const StaticSpecText& text) {
    const auto put = store_.put(text);
    return put ? 0 : put.error().detail;
  }
  void declare(const std::vector<StaticSpecText>& specs) {
    for (const StaticSpecText& each : specs) EXPECT_TRUE(puts(each));
    EXPECT_TRUE(store_.keepOnlyThose());
  }
  std::string pathOf(const std::string& resource) {
    return dir_ / ("cdi/" + specFileName(*ResourceName::parse(resource)));
  }
  /// The nodes of each device of the resource's spec; empty: there is none.
  std::map<std::string, Nodes> onDisk(const std::string& resource) {
    std::map<std::string, Nodes> devices;
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
  const ServedNames names_{{"vfiogate.dev/"}, ""};
  CdiStore store_{dir_ / "cdi", names_};
};

using Devices = std::map<std::string, Nodes>;

TEST_F(CdiStoreTest, WritesTheNodesThatItIsTold) {
  declare({spec(kGpu, {{kOne, 12}, {kTwo, 13}})});
  EXPECT_EQ(onDisk(kGpu), (Devices{{kOne, Nodes{"/dev/vfio/vfio", "/dev/vfio/12"}},
                                   {kTwo, Nodes{"/dev/vfio/vfio", "/dev/vfio/13"}}}));
}

TEST_F(CdiStoreTest, DevicesThatShareTheirNodesAllNameThem) {
  StaticSpecText whole{.resource = kGpu,
                       .nodeSets = {{{SpecNode::Kind::kIommufd, 0},
                                     {SpecNode::Kind::kDevice, 0},
                                     {SpecNode::Kind::kDevice, 1}}},
                       .devices = {{*Bdf::parse(kOne), 0}, {*Bdf::parse(kTwo), 0}}};
  declare({whole});
  const Nodes both{"/dev/iommu", "/dev/vfio/devices/vfio0", "/dev/vfio/devices/vfio1"};
  EXPECT_EQ(onDisk(kGpu), (Devices{{kOne, both}, {kTwo, both}}));
}

TEST_F(CdiStoreTest, WhatChangesTakesTheOldSpecsPlace) {
  declare({spec(kGpu, {{kOne, 12}})});
  declare({spec(kGpu, {{kOne, 40}})});
  EXPECT_EQ(onDisk(kGpu)[kOne], (Nodes{"/dev/vfio/vfio", "/dev/vfio/40"}));
  EXPECT_EQ(files(), 1U);
}

TEST_F(CdiStoreTest, WhatSomebodyDidToASpecIsMendedByTheSameDeclaration) {
  const auto declared = spec(kGpu, {{kOne, 12}});
  declare({declared});
  const Devices whole = onDisk(kGpu);
  std::ofstream(pathOf(kGpu)) << R"({"kind": "vfiogate.dev/gpu", "devices": []})";
  declare({declared});
  EXPECT_EQ(onDisk(kGpu), whole);
  fs::remove(pathOf(kGpu));
  declare({declared});
  EXPECT_EQ(onDisk(kGpu), whole);
}

// It may have been killed before it had synced the directory.
TEST_F(CdiStoreTest, WhatAPrivdBeforeThisOneWroteIsSyncedOnce) {
  declare({spec(kGpu, {{kOne, 12}})});
  CdiStore next(dir_ / "cdi", names_);
  const int before = syncs;
  EXPECT_TRUE(next.put(spec(kGpu, {{kOne, 12}})));
  EXPECT_TRUE(next.keepOnlyThose());
  EXPECT_EQ(syncs, before + 1);
  EXPECT_TRUE(next.put(spec(kGpu, {{kOne, 12}})));
  EXPECT_TRUE(next.keepOnlyThose());
  EXPECT_EQ(syncs, before + 1);
}

TEST_F(CdiStoreTest, UnlinksWhatIsDeclaredNoMoreAndNobodyElsesFiles) {
  declare({spec(kGpu, {{kOne, 12}}), spec(kNic, {{kTwo, 13}})});
  const std::vector<std::string> foreign{"nvidia.com-gpu.json", "vfiogate-claim-1.json",
                                         "vfiogate.json"};
  for (const std::string& name : foreign) std::ofstream(dir_ / ("cdi/" + name)) << "{}";
  std::ofstream(dir_ / "cdi/.vfiogate-0123456789abcdef.json.tmp") << "{";
  declare({spec(kNic, {{kTwo, 13}})});
  EXPECT_FALSE(fs::exists(pathOf(kGpu)));
  EXPECT_TRUE(fs::exists(pathOf(kNic)));
  for (const std::string& name : foreign) EXPECT_TRUE(fs::exists(dir_ / ("cdi/" + name))) << name;
  EXPECT_EQ(files(), foreign.size() + 1) << "what a privd left that died while it wrote is gone";
  declare({});
  EXPECT_EQ(files(), foreign.size());
}

TEST_F(CdiStoreTest, RefusesNamesThatAreNotPlugindsOrNotCdis) {
  for (const char* name :
       {"gpu", "vfiogate.dev/10de_2684", "vfiogate.dev/a.b", "vfiogate.dev/../../etc"}) {
    EXPECT_EQ(refusal(name), gate::Code::kBadName) << name;
  }
  EXPECT_EQ(refusal("nvidia.com/gpu"), gate::Code::kForeign);
  EXPECT_EQ(files(), 0U);
}

TEST_F(CdiStoreTest, NoDirectoryIsAnErrnoUnlessNothingIsDeclared) {
  fs::remove(dir_ / "cdi");
  EXPECT_TRUE(store_.keepOnlyThose()) << "with the directory all specs are gone";
  EXPECT_EQ(failure(spec(kGpu, {{kOne, 12}})), ENOENT);
}

TEST_F(CdiStoreTest, WhatCannotBeWrittenIsAnErrnoAndHurtsNoOtherResource) {
  fs::create_directory(pathOf(kGpu));
  EXPECT_EQ(failure(spec(kGpu, {{kOne, 12}})), EISDIR);
  EXPECT_TRUE(puts(spec(kNic, {{kTwo, 13}})));
  EXPECT_TRUE(fs::exists(pathOf(kNic)));
}

TEST_F(CdiStoreTest, I10_LeavesNoMoreFilesThanTwoDeclarationsHave) {
  for (std::size_t i = 0; i < CdiStore::kMostFiles; ++i) {
    ASSERT_TRUE(puts(spec("vfiogate.dev/r" + std::to_string(i), {{kOne, 12}})));
  }
  EXPECT_EQ(failure(spec(kGpu, {{kOne, 12}})), EDQUOT);
  EXPECT_TRUE(puts(spec("vfiogate.dev/r7", {{kOne, 13}}))) << "in place of one of them";
  store_.forget();
  EXPECT_EQ(failure(spec(kGpu, {{kOne, 12}})), EDQUOT) << "another connection, the same disk";
  declare({spec("vfiogate.dev/r7", {{kOne, 13}})});
  EXPECT_TRUE(puts(spec(kGpu, {{kOne, 12}})));
}

/// Of as many devices as a node may have, with as many nodes each as there may be then.
StaticSpecText largest(const std::string& resource) {
  StaticSpecText spec{.resource = resource, .nodeSets = {{}}, .devices = {}};
  for (std::uint32_t i = 0; i < 8; ++i) spec.nodeSets[0].push_back({SpecNode::Kind::kDevice, i});
  for (unsigned i = 0; i < 4096; ++i) {
    char address[16];
    std::snprintf(address, sizeof(address), "0001:%02x:%02x.%x", i / 256, i / 8 % 32, i % 8);
    spec.devices.push_back({*Bdf::parse(address), 0});
  }
  return spec;
}

// Where the directory is on a tmpfs they are the gate's memory.
TEST_F(CdiStoreTest, I10_LeavesNoMoreBytesThanTwoDeclarationsHave) {
  ASSERT_TRUE(puts(largest(kGpu)));
  ASSERT_TRUE(puts(largest(kNic)));
  ASSERT_TRUE(puts(largest("vfiogate.dev/third")));
  EXPECT_EQ(failure(largest("vfiogate.dev/fourth")), EDQUOT);
  EXPECT_EQ(files(), 3U);
  EXPECT_TRUE(puts(spec("vfiogate.dev/small", {{kOne, 12}}))) << "there is room for this one";
  EXPECT_EQ(failure(largest("vfiogate.dev/small")), EDQUOT) << "also in its own place";
  EXPECT_TRUE(puts(largest(kGpu))) << "in place of itself";
  store_.forget();
  EXPECT_EQ(failure(largest("vfiogate.dev/fourth")), EDQUOT) << "another connection, the same disk";
  declare({largest(kNic)});
  EXPECT_TRUE(puts(largest("vfiogate.dev/fourth")));
}

TEST_F(CdiStoreTest, AFullDiskIsAnErrnoAndNoOutdatedSpecStaysOnIt) {
  const test::SmallDisk disk(dir_ / "cdi");
  if (!disk.mounted()) GTEST_SKIP() << "cannot mount: no rights";
  declare({spec(kGpu, {{kOne, 12}})});
  disk.fill();
  EXPECT_EQ(failure(spec(kGpu, {{kOne, 40}})), ENOSPC);
  EXPECT_TRUE(store_.keepOnlyThose());
  EXPECT_FALSE(fs::exists(pathOf(kGpu))) << "its group may be another device's now";
  disk.empty();
  declare({spec(kGpu, {{kOne, 40}})});
  EXPECT_EQ(onDisk(kGpu)[kOne], (Nodes{"/dev/vfio/vfio", "/dev/vfio/40"}));
}

TEST_F(CdiStoreTest, OnAReadOnlyDiskWhatIsRightAlreadyIsInPlace) {
  const test::SmallDisk disk(dir_ / "cdi");
  if (!disk.mounted()) GTEST_SKIP() << "cannot mount: no rights";
  declare({spec(kGpu, {{kOne, 12}})});
  ASSERT_TRUE(disk.setReadOnly());
  EXPECT_TRUE(puts(spec(kGpu, {{kOne, 12}})));
  EXPECT_EQ(failure(spec(kNic, {{kTwo, 13}})), EROFS);
}

}  // namespace
}  // namespace vfiogate
