#include "privd/cli/binding/holders.h"

#include "privd/scan/pci_scan.h"
#include "tests/support/fake_sysfs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sys/stat.h>

#include <filesystem>
#include <fstream>

namespace vfiogate {
namespace {

namespace fs = std::filesystem;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

class HoldersTest : public testing::Test {
protected:
  /// A process with one open file.
  void run(int pid, const std::string& node, const std::string& cgroup = "0::/user.slice\n") {
    const fs::path process = fs::path(proc()) / std::to_string(pid);
    fs::create_directories(process / "fd");
    fs::create_symlink("/dev/null", process / "fd/0");
    fs::create_symlink(node, process / "fd/17");
    std::ofstream(process / "comm") << "qemu-system-x86\n";
    std::ofstream(process / "status") << "Name:\tqemu\nUid:\t107\t0\t0\t0\nGid:\t1\n";
    std::ofstream(process / "cgroup") << cgroup;
  }
  std::string proc() const { return dir_ / "proc"; }
  std::string podOf(const std::string& cgroup) {
    fs::remove_all(proc());
    run(9, "/dev/vfio/31", cgroup);
    return holdersOf(proc(), {"/dev/vfio/31"}).found.at(0).podUid;
  }

  TempDir dir_;
  FakeSysfs tree_;
};

TEST_F(HoldersTest, NamesWhoHasANodeOpen) {
  run(4711, "/dev/vfio/31");
  run(20, "/dev/vfio/31");
  run(5, "/dev/vfio/3");
  run(6, "socket:[31]");
  run(7, "/tmp/dev/vfio/31");
  fs::create_directories(dir_ / "proc/sys");
  const Holders holders = holdersOf(proc(), {"/dev/vfio/31", "/dev/nvme0n*"});
  ASSERT_THAT(holders.found, testing::SizeIs(2));
  EXPECT_EQ(holders.found.at(0).pid, 20) << "ascending, as numbers";
  EXPECT_EQ(holders.found.at(1), (Holder{4711, "qemu-system-x86", 107, "", "/dev/vfio/31"}));
  EXPECT_EQ(wordsFor(holders.found.at(1)),
            "pid 4711 qemu-system-x86, uid 107, has /dev/vfio/31 open");
}

TEST_F(HoldersTest, NamesWhoHasAFileLockedAndNotWhoHasItOpenOnly) {
  const std::string log = dir_ / "audit.jsonl";
  std::ofstream(log) << "";
  run(4711, log);
  run(20, log);
  run(30, "/elsewhere");
  struct stat status = {};
  ASSERT_EQ(stat(log.c_str(), &status), 0);
  const auto lock = [&](const std::string& begin, int pid) {
    return begin + "  ADVISORY  WRITE " + std::to_string(pid) +
           " 08:01:" + std::to_string(status.st_ino) + " 0 EOF\n";
  };
  std::ofstream(fs::path(proc()) / "locks")
      << lock("1: FLOCK", 4711) << lock("1: -> FLOCK", 20) << lock("2: POSIX", 20)
      << lock("3: FLOCK", 30) << "4: FLOCK  ADVISORY  WRITE 20 08:01:1 0 EOF\nnonsense\n";
  EXPECT_EQ(lockersText(proc(), log), "; pid 4711 qemu-system-x86, uid 107, has " + log + " open");
  EXPECT_EQ(lockersText(proc(), dir_ / "none"), "");
}

TEST_F(HoldersTest, AStarStandsForAllThatBeginSo) {
  run(1, "/dev/nvme0n1p2");
  run(2, "/dev/nvme0");
  run(3, "/dev/nvme1n1");
  const Holders holders = holdersOf(proc(), {"/dev/nvme0", "/dev/nvme0n*"});
  ASSERT_THAT(holders.found, testing::SizeIs(2));
  EXPECT_EQ(holders.found.at(0).node, "/dev/nvme0n1p2");
  EXPECT_EQ(holders.found.at(1).node, "/dev/nvme0");
}

TEST_F(HoldersTest, FindsThePodInEitherSpellingOfItsCgroup) {
  const std::string uid = "6f0c2d3e-7d0c-4c40-9f6d-3f1f6f6b0d55";
  EXPECT_EQ(podOf("0::/kubepods/besteffort/pod" + uid + "/0123abc\n"), uid);
  EXPECT_EQ(podOf("0::/kubepods.slice/kubepods-burstable.slice/"
                  "kubepods-burstable-pod6f0c2d3e_7d0c_4c40_9f6d_3f1f6f6b0d55.slice/"
                  "cri-containerd-0123.scope\n"),
            uid);
  EXPECT_EQ(podOf("12:cpu:/kubepods/pod" + uid + "\n0::/\n"), uid);
  EXPECT_EQ(podOf("0::/machine.slice/podman-6f0c2d3e.scope\n"), "");
  EXPECT_EQ(podOf("0::/pod6f0c2d3e-7d0c-4c40-9f6d-3f1f6f6b0d5\n"), "");
  EXPECT_EQ(podOf(""), "");
}

TEST_F(HoldersTest, CountsProcessesIntoWhichNobodyMayLook) {
  run(4711, "/dev/vfio/31");
  fs::create_directories(dir_ / "proc/8");
  std::ofstream(dir_ / "proc/8/fd") << "no directory, as for a stranger";
  const Holders holders = holdersOf(proc(), {"/dev/vfio/31"});
  EXPECT_EQ(holders.hidden, 1U);
  EXPECT_THAT(holders.found, testing::SizeIs(1));
}

TEST_F(HoldersTest, WithoutProcessesThereAreNone) {
  EXPECT_THAT(holdersOf(dir_ / "nothing", {"/dev/vfio/31"}).found, IsEmpty());
  run(4711, "/dev/vfio/31");
  EXPECT_THAT(holdersOf(proc(), {}).found, IsEmpty());
}

TEST_F(HoldersTest, I10_NamesAtMostSixtyFour) {
  for (int pid = 1; pid <= 70; ++pid) run(pid, "/dev/vfio/31");
  EXPECT_THAT(holdersOf(proc(), {"/dev/vfio/31"}).found, testing::SizeIs(64));
}

TEST_F(HoldersTest, TheNodesOfADeviceComeFromItsChildren) {
  tree_.add({.address = "0000:01:00.0", .driver = "nvidia", .group = 31});
  tree_.add({.address = "0000:02:00.0", .group = 32});
  const fs::path card = tree_.directoryOf("0000:01:00.0");
  for (const char* child : {"drm/card0", "drm/renderD128", "nvme/nvme3", "sound/card1/pcmC1D3p",
                            "sound/card1/input7", "infiniband_verbs/uverbs0"}) {
    fs::create_directories(card / child);
  }
  fs::create_directories(dir_ / "proc/driver/nvidia/gpus/0000:01:00.0");
  std::ofstream(dir_ / "proc/driver/nvidia/gpus/0000:01:00.0/information")
      << "Model: \t\t NVIDIA\nDevice Minor: \t 2\nGPU Excluded:\t No\n";
  const SysfsRoot sysfs = SysfsRoot::open(tree_.sysfs()).value();
  const DevRoot dev = DevRoot::open(tree_.dev()).value();
  const Snapshot seen = scan(sysfs, dev).value();
  EXPECT_THAT(nodesOf(sysfs, proc(), seen.devices.at(Bdf::parse("0000:01:00.0").value())),
              UnorderedElementsAre("/dev/vfio/31", "/dev/vfio/noiommu-31", "/dev/dri/card0",
                                   "/dev/dri/renderD128", "/dev/nvme3", "/dev/nvme3n*",
                                   "/dev/snd/pcmC1D3p", "/dev/infiniband/uverbs0", "/dev/nvidia2"));
  const PciDevice& bound = seen.devices.at(Bdf::parse("0000:02:00.0").value());
  EXPECT_THAT(nodesOf(sysfs, proc(), bound),
              UnorderedElementsAre("/dev/vfio/32", "/dev/vfio/noiommu-32",
                                   "/dev/vfio/devices/vfio" + std::to_string(*bound.vfioDev)));
}

TEST(Holders, TheNodesOfAMediatedDeviceAreThoseOfVfio) {
  const MediatedDevice device{.uuid = *Uuid::parse("3f5e2c10-0001-4a5b-8c6d-000000000001"),
                              .group = IommuGroupId(60),
                              .vfioDev = 3};
  EXPECT_THAT(nodesOf(device), UnorderedElementsAre("/dev/vfio/devices/vfio3", "/dev/vfio/60",
                                                    "/dev/vfio/noiommu-60"));
}

}  // namespace
}  // namespace vfiogate
