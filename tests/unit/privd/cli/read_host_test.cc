#include "privd/cli/doctor/read_host.h"
#include "privd/cli/doctor/examine.h"
#include "tests/support/fake_sysfs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fcntl.h>
#include <sys/stat.h>

#include <fstream>

namespace vfiogate {
namespace {

/// A host in a directory, empty but for what a test puts there.
class ReadHost : public testing::Test {
protected:
  ReadHost()
      : roots{.sysfs = tree.sysfs(),
              .dev = tree.dev(),
              .proc = dir / "proc",
              .etc = dir / "etc",
              .modulesDir = dir / "modules",
              .kubeletDir = dir / "kubelet",
              .cdiDir = dir / "cdi",
              .stateDir = dir / "state"} {}

  static void put(const std::string& path, const std::string& text) {
    std::filesystem::create_directories(std::filesystem::path(path).parent_path());
    std::ofstream(path) << text;
  }
  static void link(const std::string& target, const std::string& path) {
    std::filesystem::create_directories(std::filesystem::path(path).parent_path());
    std::filesystem::create_symlink(target, path);
  }

  FakeSysfs tree;
  TempDir dir;
  DoctorRoots roots;
};

TEST_F(ReadHost, FindsWhatIsThere) {
  tree.add({.address = "0000:01:00.0"});
  tree.setAttribute("0000:01:00.0", "resource", "0x0 0xffff 0x200");
  put(tree.sysfs() + "/class/iommu/dmar0/intel-iommu/ecap", "f020df\n");
  put(tree.sysfs() + "/module/vfio_iommu_type1/parameters/allow_unsafe_interrupts", "N\n");
  put(dir / "proc/cmdline", "intel_iommu=on\n");
  put(dir / "proc/sys/kernel/osrelease", "6.1.0\n");
  put(dir / "modules/6.1.0/modules.dep", "k/vfio.ko:\n");
  put(dir / "proc/812/comm", "containerd\n");
  put(dir / "proc/812/limits", "Max locked memory  unlimited  unlimited  bytes\n");
  put(dir / "proc/813/comm", "bash\n");
  put(dir / "etc/containerd/config.toml", "enable_cdi = true\n");
  std::filesystem::create_directories(dir / "kubelet/device-plugins");

  const HostFacts facts = readHost(roots);
  ASSERT_TRUE(facts.hardware);
  EXPECT_EQ(facts.hardware->devices.size(), 1U);
  EXPECT_EQ(facts.windows.at(*Bdf::parse("0000:01:00.0")).value, "0x0 0xffff 0x200");
  EXPECT_EQ(facts.iommu.ecaps.at("dmar0").value, "f020df");
  EXPECT_EQ(facts.vfio.unsafeInterrupts.value, "N");
  EXPECT_EQ(facts.commandLine.value, "intel_iommu=on");
  EXPECT_EQ(facts.modules.dependencies.value, "k/vfio.ko:");
  ASSERT_EQ(facts.runtimes.size(), 1U);
  EXPECT_EQ(facts.runtimes.front().name, "containerd");
  EXPECT_EQ(facts.containerd.value, "enable_cdi = true");
  EXPECT_TRUE(facts.kubelet.below.front()->directory);
  EXPECT_TRUE(facts.kubelet.below.back().absent());
}

// As list does: excluded_devices_test, running_changes_test.
TEST_F(ReadHost, FindsWhatOperatorsExcludedAndChangesThatRun) {
  tree.add({.address = "0000:01:00.0", .group = 7});
  tree.add({.address = "0000:02:00.0", .group = 8});
  put(dir / "state/holds/0000:01:00.0", "");
  const std::string record = dir / "devices/0000:02:00.0";
  put(record, "");
  struct stat status = {};
  ASSERT_EQ(stat(record.c_str(), &status), 0);
  link(record, dir / "proc/9/fd/3");
  put(dir / "proc/9/fdinfo/3",
      "lock:\t1: FLOCK  ADVISORY  WRITE 9 00:19:" + std::to_string(status.st_ino) + " 0 EOF\n");

  roots.recordDir = dir / "devices";
  const HostFacts facts = readHost(roots);
  ASSERT_TRUE(facts.hardware);
  EXPECT_TRUE(facts.hardware->groups.at(IommuGroupId(7)).binding.excluded);
  EXPECT_FALSE(facts.hardware->groups.at(IommuGroupId(7)).binding.busy);
  EXPECT_TRUE(facts.hardware->groups.at(IommuGroupId(8)).binding.busy);
  EXPECT_EQ(facts.excludedProblem + facts.changesProblem, "");
}

TEST_F(ReadHost, SaysWhatItCouldNotLookInto) {
  tree.add({.address = "0000:01:00.0"});
  put(dir / "state/holds", "no directory");
  put(dir / "devices", "no directory");
  roots.recordDir = dir / "devices";
  const HostFacts facts = readHost(roots);
  EXPECT_EQ(facts.excludedProblem, dir / "state/holds" + ": Not a directory");
  EXPECT_EQ(facts.changesProblem, dir / "devices" + ": Not a directory");
}

TEST_F(ReadHost, FindsWhoDecidesAtBoot) {
  put(dir / "etc/driverctl.d/pci-0000:01:00.0", "nouveau\n");
  put(dir / "etc/modprobe.d/vfio.conf", "blacklist vfio-pci\n");
  put(dir / "etc/modprobe.d/vfio.conf.bak", "blacklist vfio\n");
  put(dir / "state/declared/0000:01:00.0", "format=1\nvendor=10de\ndevice=2684\n");
  put(dir / "state/declared/0000:02:00.0", "nonsense");
  put(dir / "etc/vfiogate/privd.conf",
      "#declare vendor=1\ndeclare 0000:03:00.0=8086:1533\ndeclare=vendor=8086\ndeclared x\n"
      "declare =\ndeclare 0000:04:00.0\n#vfs 3a:00.0=1\nvfs 3b:00.0=8\nvfs=8086:1593=2\nvfs "
      "3c:00.0\n");

  const BootFacts boot = readHost(roots).boot;
  EXPECT_EQ(boot.overrides.at("pci-0000:01:00.0").value, "nouveau");
  ASSERT_EQ(boot.modprobeFiles.size(), 1U) << "modprobe reads no other ending than .conf";
  EXPECT_EQ(boot.modprobeFiles.at("vfio.conf").value, "blacklist vfio-pci");
  ASSERT_EQ(boot.declared.size(), 3U);
  EXPECT_EQ(boot.declared.at(0).where, dir / "state/declared/0000:01:00.0");
  EXPECT_EQ(boot.declared.at(0).which,
            *Selector::parse("address=0000:01:00.0,vendor=10de,device=2684"));
  EXPECT_EQ(boot.declared.at(1).where, dir / "etc/vfiogate/privd.conf");
  EXPECT_EQ(boot.declared.at(2).which, *Selector::parse("vendor=8086"));
  ASSERT_EQ(boot.vfs.size(), 2U);
  EXPECT_EQ(boot.vfs.at(0), *parseVfs("3b:00.0=8"));
  EXPECT_EQ(boot.vfs.at(1), *parseVfs("8086:1593=2"));
}

TEST_F(ReadHost, ReadsModprobesDirectoriesAsModprobeDoes) {
  const std::vector<std::string> ascending{"lib", "usr/lib", "usr/local/lib", "run", "etc"};
  for (const std::string& first : ascending) {
    put(dir / first + "/modprobe.d/vfio.conf", first);
    EXPECT_EQ(readHost(roots).boot.modprobeFiles.at("vfio.conf").value, first);
  }
  put(dir / "usr/lib/modprobe.d/other.conf", "x");
  EXPECT_EQ(readHost(roots).boot.modprobeFiles.at("other.conf").path,
            dir / "usr/lib/modprobe.d/other.conf");
  link("/dev/null", dir / "etc/modprobe.d/other.conf");
  EXPECT_EQ(readHost(roots).boot.modprobeFiles.at("other.conf").value, "") << "hidden";
}

TEST_F(ReadHost, ANodeWithoutAnythingIsAFactToo) {
  std::filesystem::remove_all(tree.sysfs());
  const HostFacts facts = readHost(roots);
  EXPECT_TRUE(facts.hardware.absent());
  EXPECT_TRUE(facts.commandLine.absent());
  EXPECT_TRUE(facts.modules.dependencies.absent());
  EXPECT_TRUE(facts.kubelet.directory.absent());
  EXPECT_EQ(facts.commandLine.path, dir / "proc/cmdline");
  EXPECT_FALSE(examine(facts).empty());
}

TEST_F(ReadHost, NeitherWaitsNorFollowsLinksOut) {
  put(dir / "secret", "x");
  link("../secret", dir / "proc/cmdline");
  link("loop", dir / "proc/loop");
  link("loop", dir / "proc/interrupts");
  link("interrupts", dir / "proc/fb");
  std::filesystem::remove(dir / "proc/interrupts");
  link("fb", dir / "proc/interrupts");
  ASSERT_EQ(mkfifo((dir / "proc/cpuinfo").c_str(), 0600), 0);
  std::filesystem::create_directories(dir / "proc/self/mountinfo");

  const HostFacts facts = readHost(roots);
  EXPECT_EQ(facts.commandLine.error, EXDEV);
  EXPECT_EQ(facts.interrupts.error, ELOOP);
  EXPECT_EQ(facts.processor.error, EINVAL);
  EXPECT_EQ(facts.mounts.error, EINVAL);
}

TEST_F(ReadHost, HugeFilesAreCutOrRefused) {
  put(dir / "proc/cmdline", std::string(1 << 20, 'a'));
  put(dir / "proc/sys/kernel/osrelease", "6.1.0");
  put(dir / "modules/6.1.0/modules.dep", "");
  std::filesystem::resize_file(dir / "modules/6.1.0/modules.dep", 1UL << 32U);
  const HostFacts facts = readHost(roots);
  EXPECT_EQ(facts.commandLine->size(), 4096U);
  EXPECT_EQ(facts.modules.dependencies.error, EFBIG);
}

TEST_F(ReadHost, AReleaseIsNoPath) {
  put(dir / "proc/sys/kernel/osrelease", "../../etc");
  EXPECT_EQ(readHost(roots).modules.dependencies.error, EINVAL);
}

TEST_F(ReadHost, BytesThatAreNoTextAreTakenAsTheyAre) {
  const std::string bytes("\x00\xff\x1b[2J\n", 7);
  for (const char* file : {"proc/cmdline", "proc/self/mountinfo", "proc/self/limits", "proc/fb",
                           "proc/sys/kernel/osrelease", "etc/containerd/config.toml"}) {
    put(dir / file, bytes);
  }
  EXPECT_FALSE(examine(readHost(roots)).empty());
}

}  // namespace
}  // namespace vfiogate
