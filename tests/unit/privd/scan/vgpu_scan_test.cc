// Virtual functions of which their host driver makes vGPUs: which type is set, and what it is
// called.

#include "ipc/types/viability.h"
#include "privd/scan/pci_scan.h"

#include "tests/support/fake_sysfs.h"

#include <gtest/gtest.h>

#include <filesystem>

namespace vfiogate {
namespace {

namespace fs = std::filesystem;

constexpr const char* kCard = "0000:11:00.0";
constexpr const char* kOtherCard = "0000:21:00.0";
const Bdf kOne = *Bdf::parse("0000:11:00.4");
const Bdf kTwo = *Bdf::parse("0000:11:00.5");
const Bdf kElsewhere = *Bdf::parse("0000:21:00.4");
constexpr const char* kHeading = "ID    : vGPU Name\n";
constexpr const char* kList =
    "ID    : vGPU Name\n1147  : NVIDIA L40S-1Q\n1155  : NVIDIA L40S-24Q\n";

class VgpuScan : public testing::Test {
protected:
  VgpuScan() {
    addCard(kCard, 2);
    addCard(kOtherCard, 3);
    addFunction(kOne, kCard, 100);
    addFunction(kTwo, kCard, 101);
    addFunction(kElsewhere, kOtherCard, 102);
    seen_ = *scanUnits(sysfs_, dev_);
  }
  ~VgpuScan() noexcept override = default;

  void addCard(const char* address, unsigned group) {
    tree_.add({.address = address, .driver = "nvidia", .group = group});
    tree_.setAttribute(address, "sriov_totalvfs", "8\n");
  }
  void addFunction(const Bdf& address, const char* card, unsigned group) {
    tree_.add({.address = address.str(), .group = group, .enable = 1});  // with its vfio-dev
    const fs::path at = tree_.directoryOf(address.str());
    fs::create_directories(tree_.sysfs() + "/bus/pci/drivers/nvidia");
    fs::remove(at / "driver");
    fs::remove(tree_.sysfs() + "/bus/pci/drivers/vfio-pci/" + address.str());
    fs::create_symlink(fs::relative(tree_.sysfs() + "/bus/pci/drivers/nvidia", at), at / "driver");
    fs::create_symlink(std::string("../") + card, at / "physfn");
    fs::create_directories(at / "nvidia");
    set(address, "0\n");
    list(address, kList);
  }
  void set(const Bdf& address, const std::string& type) {
    tree_.setAttribute(address.str(), "nvidia/current_vgpu_type", type);
  }
  void list(const Bdf& address, const std::string& text) {
    tree_.setAttribute(address.str(), "nvidia/creatable_vgpu_types", text);
  }
  bool reread() { return rereadUnits(sysfs_, dev_, placesOf(seen_), seen_); }
  const PciDevice& at(const Bdf& address) { return seen_.devices.at(address); }

  FakeSysfs tree_;
  SysfsRoot sysfs_ = SysfsRoot::open(tree_.sysfs()).value();
  DevRoot dev_ = DevRoot::open(tree_.dev()).value();
  Snapshot seen_;
};

TEST_F(VgpuScan, ATypeThatIsSetIsNewsAndMakesItPassable) {
  EXPECT_EQ(at(kOne).vgpuType, 0U);
  EXPECT_EQ(at(kOne).vgpuTypeName, "");
  EXPECT_EQ(viability(seen_, kOne).obstacle, Obstacle::kNoVgpuType);
  EXPECT_EQ(seen_.devices.at(*Bdf::parse(kCard)).vgpuType, std::nullopt);
  set(kOne, "1147\n");
  EXPECT_TRUE(reread());
  EXPECT_EQ(at(kOne).vgpuType, 1147U);
  EXPECT_EQ(at(kOne).vgpuTypeName, "NVIDIA L40S-1Q");
  EXPECT_TRUE(viability(seen_, kOne).ready()) << explain(seen_, kOne, viability(seen_, kOne));
  EXPECT_FALSE(reread()) << "no news";
  set(kOne, "1155\n");
  EXPECT_TRUE(reread());
  EXPECT_EQ(at(kOne).vgpuTypeName, "NVIDIA L40S-24Q");
  set(kOne, "0\n");
  EXPECT_TRUE(reread());
  EXPECT_EQ(at(kOne).vgpuTypeName, "");
  EXPECT_EQ(viability(seen_, kOne).obstacle, Obstacle::kNoVgpuType);
}

TEST_F(VgpuScan, TheNameIsTheCardsWhicheverFunctionLists) {
  set(kOne, "1147\n");
  list(kOne, kHeading);
  reread();
  EXPECT_EQ(at(kOne).vgpuTypeName, "NVIDIA L40S-1Q") << "from a function without a type";
  set(kTwo, "1147\n");
  list(kTwo, kHeading);
  reread();
  EXPECT_EQ(at(kTwo).vgpuTypeName, "NVIDIA L40S-1Q") << "the card is full: as the other's";
  EXPECT_EQ(at(kOne).vgpuTypeName, "NVIDIA L40S-1Q") << "kept";
}

TEST_F(VgpuScan, AnotherCardsNameIsNotBelieved) {
  set(kElsewhere, "1147\n");
  list(kElsewhere, kHeading);
  set(kOne, "1147\n");
  reread();
  EXPECT_EQ(at(kElsewhere).vgpuTypeName, "");
  EXPECT_EQ(at(kElsewhere).vgpuTypeForPeople(), "nvidia-1147");
  EXPECT_TRUE(viability(seen_, kElsewhere).ready()) << "it is offered all the same";
}

TEST_F(VgpuScan, StrangeListsAreNoNames) {
  set(kOne, "1147\n");
  for (const std::string& text :
       {std::string(), std::string("1147\n"), std::string("1147 :\n"), std::string("x : y\n"),
        std::string("1147 : a\x01") + "b\n", "1147 : " + std::string(65, 'n') + "\n",
        std::string("11470 : NVIDIA L40S-1Q\n")}) {
    list(kOne, text);
    list(kTwo, text);
    seen_ = *scanUnits(sysfs_, dev_);
    EXPECT_EQ(at(kOne).vgpuTypeName, "") << text;
    EXPECT_TRUE(at(kOne).problems.empty()) << text;
  }
  list(kOne, "  1147:NVIDIA L40S-1Q ");
  reread();
  EXPECT_EQ(at(kOne).vgpuTypeName, "NVIDIA L40S-1Q");
}

TEST_F(VgpuScan, ATypeThatCannotBeReadIsNoneAndAProblem) {
  for (const char* text : {"", "nvidia-1147\n", "-1\n", "99999999999\n"}) {
    set(kOne, text);
    reread();
    EXPECT_EQ(at(kOne).vgpuType, 0U) << text;
    ASSERT_EQ(at(kOne).problems.size(), 1U) << text;
    EXPECT_EQ(at(kOne).problems[0].attribute, kVgpuType);
  }
}

TEST_F(VgpuScan, I1_ItsUseIsNotReadFromEnable) {
  set(kOne, "1147\n");
  for (const unsigned count : {0U, 1U, 2U}) {
    tree_.setEnable(kOne.str(), count);
    reread();
    EXPECT_EQ(seen_.groups.at(IommuGroupId(100)).use, GroupUse::kBlind) << count;
  }
}

TEST_F(VgpuScan, WithoutItsDriverItIsAFunctionLikeAnyOther) {
  fs::remove_all(tree_.directoryOf(kOne.str()) / "nvidia");
  tree_.setDriver(kOne.str(), "vfio-pci");
  tree_.setEnable(kOne.str(), 0);
  reread();
  EXPECT_EQ(at(kOne).vgpuType, std::nullopt);
  EXPECT_EQ(seen_.groups.at(IommuGroupId(100)).use, GroupUse::kIdle);
}

}  // namespace
}  // namespace vfiogate
