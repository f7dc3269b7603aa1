#include "privd/cli/policy/guard_evidence.h"

#include "tests/support/fake_sysfs.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace vfiogate {
namespace {

GuardEvidence rowOf(Guard guard, const HostSights& sights) {
  const auto rows = evidenceOf(sights);
  EXPECT_EQ(rows.size(), kGuards);
  return rows.at(static_cast<std::size_t>(guard));
}

TEST(GuardEvidenceRows, DisksAreKnownByTheHostsTablesWhereNoneCanBeOpened) {
  HostSights sights;
  sights.disks = {Sight::Clear::kNo, "vda cannot be opened"};
  sights.mounts = {Sight::Clear::kYes, "8 mounts"};
  const GuardEvidence told = rowOf(Guard::kStorage, sights);
  EXPECT_EQ(told.has, Sight::Clear::kYes);
  EXPECT_NE(told.evidence.find("--allow-storage"), std::string::npos);
  sights.mounts = {Sight::Clear::kNo, "no mounts"};
  EXPECT_EQ(rowOf(Guard::kStorage, sights).has, Sight::Clear::kNo);
  sights.disks = {Sight::Clear::kYes, "exclusive open"};
  EXPECT_EQ(rowOf(Guard::kStorage, sights).evidence, "exclusive open");
}

TEST(GuardEvidenceRows, AreOfWhatIsThere) {
  FakeSysfs hardware;
  hardware.add({.address = "0000:01:00.0"});
  const TempDir place;
  std::ofstream(place / "mountinfo") << "22 1 259:2 / / rw - ext4 /dev/nvme0n1p2 rw\n";
  const SightPlaces places{.sysfs = hardware.sysfs(),
                           .dev = hardware.dev(),
                           .stateDir = place / "state",
                           .hostMountinfo = place / "mountinfo",
                           .hostRoute = place / "no-route"};
  const HostSights sights = findEvidence(places);
  EXPECT_EQ(sights.headers.clear, Sight::Clear::kYes);
  EXPECT_EQ(sights.mounts.what, places.hostMountinfo + " has 1 mounts");
  EXPECT_EQ(sights.routes.clear, Sight::Clear::kNo);
  EXPECT_EQ(sights.interfaces.clear, Sight::Clear::kNo);
  EXPECT_EQ(sights.nodes.clear, Sight::Clear::kYes);
  const auto json = evidenceAsJson(evidenceOf(sights));
  EXPECT_EQ(json.at(6).dump().find(R"({"guard":"network","has":"no")"), 0U) << json.at(6).dump();
}

TEST(GuardEvidenceRows, APathThatIsHiddenHasNoNodeAndIsNotTried) {
  FakeSysfs hardware;
  const std::string path = hardware.sysfs() + "/class/block/nvme0c0n1";
  std::filesystem::create_directories(path + "/device");
  const SightPlaces places{.sysfs = hardware.sysfs(), .dev = hardware.dev()};
  EXPECT_EQ(findEvidence(places).disks.clear, Sight::Clear::kNo);
  std::ofstream(path + "/hidden") << "1\n";
  EXPECT_EQ(findEvidence(places).disks.clear, Sight::Clear::kUntried);
}

TEST(GuardEvidenceRows, AreMissingWithoutSysfs) {
  const SightPlaces places{.sysfs = "/nowhere"};
  EXPECT_EQ(rowOf(Guard::kBridge, findEvidence(places)).has, Sight::Clear::kNo);
}

}  // namespace
}  // namespace vfiogate
