// What a glance at a device tells, next to what a scan has read of it.

#include "privd/scan/pci_scan.h"

#include "tests/support/fake_sysfs.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <string>

namespace vfiogate {
namespace {

namespace fs = std::filesystem;

const std::string kGpu = "0000:01:00.0";
const std::string kFunction = "0000:01:00.4";
const std::string kHeader = std::string("\xde\x10\x84\x26\x06\x04\x10\x00", 8);

class GlanceTest : public testing::Test {
protected:
  ~GlanceTest() noexcept override = default;

  void scanAll() { seen_ = scanUnits(sysfs_, dev_).value(); }
  Glance at(const std::string& address) {
    return glanceAt(sysfs_, seen_.devices.at(*Bdf::parse(address)));
  }
  void addFunction(const std::string& driver) {
    tree_.add({.address = kFunction, .driver = driver});
    fs::create_symlink("../" + kGpu, tree_.directoryOf(kFunction) / "physfn");
  }
  void setConfig(const std::string& address, const std::string& begin) {
    tree_.setAttribute(address, "config", begin + std::string(64 - begin.size(), '\0'));
  }
  /// What differs is seen, and once it has been read it is the same.
  void expectSeen(const std::string& address, Glance told) {
    EXPECT_EQ(at(address), told);
    const Places where{.devices = {*Bdf::parse(address)}, .groups = {}};
    EXPECT_TRUE(rereadUnits(sysfs_, dev_, where, seen_));
    EXPECT_EQ(at(address), Glance::kSame);
  }

  FakeSysfs tree_;
  SysfsRoot sysfs_ = SysfsRoot::open(tree_.sysfs()).value();
  DevRoot dev_ = DevRoot::open(tree_.dev()).value();
  Snapshot seen_;
};

TEST_F(GlanceTest, NothingDiffersOfWhatHasJustBeenRead) {
  tree_.add({.address = kGpu, .driver = "nvidia", .enable = 1});
  tree_.setAttribute(kGpu, "sriov_totalvfs", "8\n");
  addFunction("vfio-pci");
  tree_.add({.address = "0000:02:00.0", .driver = "", .enable = 1});
  tree_.add({.address = "0000:03:00.0", .classCode = 0x060400, .headerType = 1, .driver = ""});
  scanAll();
  for (const auto& [address, device] : seen_.devices) {
    EXPECT_TRUE(device.problems.empty()) << address.str();
    EXPECT_EQ(at(address.str()), Glance::kSame) << address.str();
  }
}

TEST_F(GlanceTest, NoEventTellsThatADeviceIsOpenedAndClosed) {
  tree_.add({.address = kGpu});
  scanAll();
  tree_.setEnable(kGpu, 1);
  expectSeen(kGpu, Glance::kUnannounced);
  tree_.setEnable(kGpu, 0);
  expectSeen(kGpu, Glance::kUnannounced);
}

// Ledger 3: it is then being taken from its driver, and somebody has it open.
TEST_F(GlanceTest, OfADeviceWithoutADriverItCountsWhoHasItOpen) {
  tree_.add({.address = kGpu, .driver = "", .enable = 1});
  scanAll();
  tree_.setEnable(kGpu, 0);
  expectSeen(kGpu, Glance::kUnannounced);
}

TEST_F(GlanceTest, OfADeviceOnItsHostsDriverItDoesNot) {
  tree_.add({.address = kGpu, .driver = "nvidia"});
  scanAll();
  tree_.setEnable(kGpu, 1);
  EXPECT_EQ(at(kGpu), Glance::kSame);
}

TEST_F(GlanceTest, NoEventTellsThatADeviceNoLongerAnswers) {
  tree_.add({.address = kGpu});
  scanAll();
  tree_.setAttribute(kGpu, "config", std::string(64, '\xff'));
  expectSeen(kGpu, Glance::kUnannounced);
  setConfig(kGpu, kHeader);
  expectSeen(kGpu, Glance::kUnannounced);
}

// SR-IOV 1.1, 3.4.1: its ids are read from its physical function.
TEST_F(GlanceTest, AVirtualFunctionAnswersWithIdsThatAreAllOnes) {
  tree_.add({.address = kGpu});
  addFunction("vfio-pci");
  setConfig(kFunction, "\xff\xff\xff\xff" + kHeader.substr(4));
  scanAll();
  EXPECT_EQ(at(kFunction), Glance::kSame);
}

TEST_F(GlanceTest, NoEventTellsWhatAVgpuIs) {
  tree_.add({.address = kGpu, .driver = "nvidia"});
  addFunction("nvidia");
  scanAll();
  fs::create_directories(tree_.directoryOf(kFunction) / "nvidia");
  for (const char* type : {"0\n", "1147\n", "1155\n", "0\n"}) {
    tree_.setAttribute(kFunction, "nvidia/current_vgpu_type", type);
    expectSeen(kFunction, Glance::kUnannounced);
  }
  tree_.removeAttribute(kFunction, "nvidia/current_vgpu_type");
  expectSeen(kFunction, Glance::kUnannounced);
}

TEST_F(GlanceTest, I9_OfAnotherDriverAnEventShouldHaveTold) {
  tree_.add({.address = kGpu});
  scanAll();
  for (const char* driver : {"", "nvidia", "vfio-pci"}) {
    tree_.setDriver(kGpu, driver);
    expectSeen(kGpu, Glance::kUnheard);
  }
}

// With the same driver, and both events lost.
TEST_F(GlanceTest, I9_OfAnotherCardInItsPlaceEventsShouldHaveTold) {
  tree_.add({.address = kGpu});
  scanAll();
  tree_.setIds({.address = kGpu, .device = 0x2704});
  expectSeen(kGpu, Glance::kUnheard);
  tree_.setIds({.address = kGpu, .vendor = 0x1002, .device = 0x2704});
  expectSeen(kGpu, Glance::kUnheard);
}

TEST_F(GlanceTest, OneThatIsGoneIsNeverTheSame) {
  tree_.add({.address = kGpu});
  tree_.add({.address = "0000:02:00.0", .driver = ""});
  scanAll();
  tree_.remove(kGpu);
  tree_.remove("0000:02:00.0");
  EXPECT_NE(at(kGpu), Glance::kSame);
  EXPECT_NE(at("0000:02:00.0"), Glance::kSame);
}

TEST_F(GlanceTest, NeitherIsOneOfWhichSomethingCannotBeReadOrCouldNot) {
  tree_.add({.address = kGpu});
  scanAll();
  tree_.removeAttribute(kGpu, "enable");
  EXPECT_EQ(at(kGpu), Glance::kUnannounced);
  scanAll();
  EXPECT_EQ(at(kGpu), Glance::kUnannounced);
  tree_.setEnable(kGpu, 0);
  expectSeen(kGpu, Glance::kUnannounced);
  tree_.setAttribute(kGpu, "modalias", "nonsense\n");
  scanAll();
  EXPECT_EQ(at(kGpu), Glance::kUnannounced);
}

}  // namespace
}  // namespace vfiogate
