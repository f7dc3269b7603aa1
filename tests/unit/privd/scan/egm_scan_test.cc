// Regions of GPUs' extended memory, in both forms in which drivers show them.

#include "privd/scan/pci_scan.h"

#include "tests/support/fake_sysfs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <filesystem>
#include <fstream>

namespace vfiogate {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::IsEmpty;

class EgmScan : public testing::Test {
protected:
  EgmScan() {
    for (const char* gpu : {"0008:01:00.0", "0009:01:00.0"}) tree_.add({.address = gpu});
  }
  ~EgmScan() noexcept override = default;

  fs::path region(const std::string& name) {
    // As the kernel has it: the class links to a directory below the GPU that made it.
    const fs::path at = tree_.directoryOf("0008:01:00.0") / "egm" / name;
    const fs::path link = fs::path(tree_.sysfs()) / "class/egm" / name;
    fs::create_directories(at);
    fs::create_directories(link.parent_path());
    fs::create_symlink(fs::relative(at, link.parent_path()), link);
    return at;
  }
  void node(const std::string& name) {
    const std::string path = tree_.dev() + "/" + name;
    ASSERT_EQ(mknod(path.c_str(), S_IFCHR | 0600, makedev(1, 3)), 0);
  }
  Snapshot whole() { return *scanUnits(sysfs_, dev_); }

  FakeSysfs tree_;
  SysfsRoot sysfs_ = SysfsRoot::open(tree_.sysfs()).value();
  DevRoot dev_ = DevRoot::open(tree_.dev()).value();
  const Bdf first_ = *Bdf::parse("0008:01:00.0");
  const Bdf second_ = *Bdf::parse("0009:01:00.0");
};

TEST_F(EgmScan, ReadsTheFormOfEntries) {
  const fs::path at = region("egm4");
  fs::create_directories(at / "0009:01:00.0");
  fs::create_directories(at / "0008:01:00.0");
  std::ofstream(at / "egm_size") << "0x1000\n";
  node("egm4");
  EXPECT_THAT(whole().egm, ElementsAre(EgmRegion{4, {first_, second_}}));
}

TEST_F(EgmScan, ReadsTheFormOfOneFile) {
  for (const char* text : {"0009:01:00.0\n0008:01:00.0\n", "0009:01:00.0 0008:01:00.0\n",
                           "0009:01:00.0, 0008:01:00.0"}) {
    const fs::path at = region("egm5");
    std::ofstream(at / "gpu_devices") << text;
    if (!fs::exists(tree_.dev() + "/egm5")) node("egm5");
    EXPECT_THAT(whole().egm, ElementsAre(EgmRegion{5, {first_, second_}})) << text;
    fs::remove(fs::path(tree_.sysfs()) / "class/egm/egm5");
  }
}

TEST_F(EgmScan, OrdersRegionsByNumberAndLeavesOutWhatNobodyCanBeGiven) {
  for (const char* name : {"egm10", "egm4", "egm6", "egm7", "egmx"}) {
    const fs::path at = region(name);
    if (std::string(name) != "egm6") std::ofstream(at / "gpu_devices") << "0008:01:00.0\n";
    if (std::string(name) != "egm7") node(name);
  }
  EXPECT_THAT(whole().egm, ElementsAre(EgmRegion{4, {first_}}, EgmRegion{10, {first_}}))
      << "egm6 has no GPU, egm7 no node, egmx no number";
}

TEST_F(EgmScan, OneThatCameOrWentIsNewsWhereverIsReread) {
  Snapshot seen = whole();
  EXPECT_THAT(seen.egm, IsEmpty());
  tree_.addEgm(4, {"0008:01:00.0"});
  const Places where{.devices = {second_}, .groups = {}};
  EXPECT_TRUE(rereadUnits(sysfs_, dev_, where, seen));
  EXPECT_THAT(seen.egm, ElementsAre(EgmRegion{4, {first_}}));
  EXPECT_FALSE(rereadUnits(sysfs_, dev_, where, seen)) << "nothing is new";
  fs::remove(tree_.dev() + "/egm4");
  EXPECT_TRUE(rereadUnits(sysfs_, dev_, where, seen));
  EXPECT_THAT(seen.egm, IsEmpty());
}

}  // namespace
}  // namespace vfiogate
