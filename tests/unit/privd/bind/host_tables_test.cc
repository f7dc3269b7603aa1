// Disks and what they are used for, from the tables that kernels print.

#include "privd/bind/plan/block_use.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace vfiogate {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Optional;

TEST(HostTables, MountinfoHasDevicePlaceAndSource) {
  const auto mounts = parseMountinfo(
      "22 1 259:2 / / rw,relatime shared:1 - ext4 /dev/nvme0n1p2 rw\n"
      "30 22 0:27 / /srv/my\\040disk rw - btrfs /dev/nvme1n1 rw,subvol=/\n"
      "31 22 0:28 /x /y rw master:1 propagate_from:2 - tmpfs tmpfs rw\n"
      "nonsense\n");
  ASSERT_TRUE(mounts);
  ASSERT_EQ(mounts->size(), 3U);
  EXPECT_EQ((*mounts)[0].device, "259:2");
  EXPECT_EQ((*mounts)[0].place, "/");
  EXPECT_EQ((*mounts)[0].source, "/dev/nvme0n1p2");
  EXPECT_EQ((*mounts)[1].place, "/srv/my disk");
  EXPECT_EQ((*mounts)[1].source, "/dev/nvme1n1");
  EXPECT_EQ((*mounts)[2].source, "tmpfs");
}

TEST(HostTables, WhatIsNoTableIsNotAnEmptyOne) {
  EXPECT_FALSE(parseMountinfo(""));
  EXPECT_FALSE(parseMountinfo("hello\nworld 1 2 3 - \n"));
  EXPECT_FALSE(parseSwaps(""));
  EXPECT_FALSE(parseRoutes("eth0\t0\n"));
  EXPECT_THAT(parseSwaps("Filename\tType\tSize\tUsed\tPriority\n"), Optional(IsEmpty()));
  EXPECT_THAT(parseSwaps("Filename\t\tType\n/dev/nvme0n1p3   partition\t1\t0\t-2\n"),
              Optional(ElementsAre("/dev/nvme0n1p3")));
  EXPECT_THAT(parseRoutes("Iface\tDestination\nbr0\t00000000\t0101A8C0\nbr0\t0001A8C0\t0\n"),
              Optional(ElementsAre("br0", "br0")));
}

constexpr const char* kNvme =
    "../../devices/pci0000:00/0000:00:1d.0/0000:02:00.0/nvme/nvme0/nvme0n1";

std::vector<BlockDevice> disks() {
  return {
      {.name = "dm-0",
       .path = "../../devices/virtual/block/dm-0",
       .number = "253:0",
       .slaves = {"nvme0n1p2"}},
      {.name = "dm-1",
       .path = "../../devices/virtual/block/dm-1",
       .number = "253:1",
       .slaves = {"dm-0"}},
      {.name = "loop0",
       .path = "../../devices/virtual/block/loop0",
       .number = "7:0",
       .backing = "/dev/nvme0n1p1"},
      {.name = "nvme0n1", .path = kNvme, .number = "259:0"},
      {.name = "nvme0n1p1", .path = std::string(kNvme) + "/nvme0n1p1", .number = "259:1"},
      {.name = "nvme0n1p2", .path = std::string(kNvme) + "/nvme0n1p2", .number = "259:2"},
      {.name = "sda",
       .path = "../../devices/pci0000:00/0000:00:17.0/ata1/host0/target0/0/block/sda",
       .number = "8:0"},
  };
}

TEST(DisksBelow, AFunctionAreThoseWhosePathLeadsThroughIt) {
  EXPECT_THAT(disksBelow(*Bdf::parse("0000:00:17.0"), disks(), {}),
              ElementsAre(testing::Field(&DiskUse::disk, "sda")));
  EXPECT_THAT(disksBelow(*Bdf::parse("0000:02:00.0"), disks(), {}),
              ElementsAre(testing::Field(&DiskUse::disk, "nvme0n1")));
  EXPECT_THAT(disksBelow(*Bdf::parse("0000:03:00.0"), disks(), {}), IsEmpty());
}

TEST(DisksBelow, UsesAreFoundThroughPartitionsVolumesAndLoops) {
  const HostTables tables{.mounts = {{{"253:1", "/", "/dev/mapper/vg-root"}}},
                          .swaps = std::vector<std::string>{},
                          .routedVia = {}};
  const auto found = disksBelow(*Bdf::parse("0000:02:00.0"), disks(), tables);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_TRUE(found[0].root);
  EXPECT_THAT(found[0].uses,
              testing::UnorderedElementsAre("dm-0 is made of it", "dm-1 is made of it",
                                            "dm-1 is mounted at /", "loop0 is made of it"));
}

/// A drive with native multipath: its path below the function is hidden, what is used is not there.
std::vector<BlockDevice> multipath() {
  const std::string head = "../../devices/virtual/nvme-subsystem/nvme-subsys0/nvme0n1";
  return {
      {.name = "nvme0c1n1", .path = "../../devices/pci0000:00/0000:02:00.0/nvme/nvme1/nvme0c1n1"},
      {.name = "nvme0n1", .path = head, .number = "259:0"},
      {.name = "nvme0n1p2", .path = head + "/nvme0n1p2", .number = "259:2"},
      {.name = "nvme0n2", .path = head.substr(0, head.size() - 1) + "2", .number = "259:3"},
      {.name = "nvmec", .path = "../../devices/pci0000:00/0000:03:00.0/nvmec"},
  };
}

TEST(DisksBelow, OfAHiddenPathTheDiskThatIsMadeOfItIsToldAndItsUses) {
  const HostTables tables{.mounts = {{{"259:2", "/", "/dev/nvme0n1p2"}}},
                          .swaps = std::vector<std::string>{"/dev/nvme0n2"},
                          .routedVia = {}};
  const auto found = disksBelow(*Bdf::parse("0000:02:00.0"), multipath(), tables);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].disk, "nvme0n1");
  EXPECT_TRUE(found[0].root);
  EXPECT_THAT(found[0].uses, ElementsAre("nvme0n1p2 is mounted at /"));
  EXPECT_THAT(disksBelow(*Bdf::parse("0000:03:00.0"), multipath(), tables),
              ElementsAre(testing::Field(&DiskUse::disk, "nvmec")));
}

struct UseOfDisk {
  const char* name;
  HostTables tables;
  const char* fileSystem;
  const char* want;
};

class UseOfADisk : public testing::TestWithParam<UseOfDisk> {};

TEST_P(UseOfADisk, IsSaidInWords) {
  std::vector<BlockDevice> all{disks()[6]};
  all[0].fileSystem = GetParam().fileSystem;
  const auto found = disksBelow(*Bdf::parse("0000:00:17.0"), all, GetParam().tables);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_FALSE(found[0].root);
  if (*GetParam().want == '\0') {
    EXPECT_THAT(found[0].uses, IsEmpty());
  } else {
    EXPECT_THAT(found[0].uses, ElementsAre(GetParam().want));
  }
}

INSTANTIATE_TEST_SUITE_P(
    Table, UseOfADisk,
    testing::Values(
        UseOfDisk{"None", {}, "", ""},
        UseOfDisk{
            "ByNumber",
            {.mounts = {{{"8:0", "/srv", "/dev/disk/by-id/x"}}}, .swaps = {}, .routedVia = {}},
            "",
            "sda is mounted at /srv"},
        UseOfDisk{"BySource",
                  {.mounts = {{{"0:30", "/srv", "/dev/sda"}}}, .swaps = {}, .routedVia = {}},
                  "",
                  "sda is mounted at /srv"},
        UseOfDisk{"AnotherOnes",
                  {.mounts = {{{"8:1", "/", "/dev/sda1"}}}, .swaps = {}, .routedVia = {}},
                  "",
                  ""},
        UseOfDisk{
            "Swap", {.mounts = {}, .swaps = {{"/dev/sda"}}, .routedVia = {}}, "", "sda is swap"},
        UseOfDisk{"MountedInAnotherNamespace", {}, "xfs", "sda carries a mounted xfs"}),
    [](const auto& told) { return std::string(told.param.name); });

}  // namespace
}  // namespace vfiogate
