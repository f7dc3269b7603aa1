// The gate's Landlock table.

#include "privd/sandbox/gate_places.h"

#include "privd/options/program_options.h"
#include "privd/state/allocation_records.h"
#include "tests/unit/privd/places.h"

namespace vfiogate::test {
namespace {

class GatePlaces : public Places {
protected:
  Result<PlacesHeld, StepFailure> confine() override {
    return confineTo(allowed(), options_.requireLandlock);
  }
  AllowedPlaces allowed() {
    GateOptions told;
    told.kubeletDir = options_.kubeletDir;
    told.cdiDir = options_.cdiDir;
    told.stateDir = options_.stateDir;
    told.plugindConfig = options_.plugindConfig;
    told.recordDir = options_.recordDir;
    told.plugindRights = options_.plugindRights;
    told.draDriver = options_.draDriver;
    return gatePlaces(told);
  }
};

TEST_F(GatePlaces, OfTheHostAndOfTheHardwareAreClosed) {
  EXPECT_EQ(opens("/etc/shadow", O_RDONLY), EACCES);
  EXPECT_EQ(opens("/proc/swaps", O_RDONLY), EACCES);
  EXPECT_EQ(opens("/dev/null", O_RDONLY), EACCES);
  EXPECT_EQ(opens(hardware_.sysfs() + "/bus/pci/devices/0000:01:00.0/vendor", O_RDONLY), EACCES);
  EXPECT_EQ(opens(directory_ / "new", O_WRONLY | O_CREAT), EACCES);
}

TEST_F(GatePlaces, OfTheKubeletHaveSocketsAndTheCheckpointOnly) {
  EXPECT_EQ(listens("kubelet/device-plugins"), 0);
  EXPECT_EQ(listens("kubelet/plugins_registry"), 0);
  EXPECT_EQ(listens("kubelet/plugins/vfio.example.org"), 0);
  EXPECT_EQ(listens("kubelet/pods"), EACCES);
  EXPECT_EQ(listens("kubelet"), EACCES);
  EXPECT_EQ(opens(directory_ / "kubelet/device-plugins/checkpoint", O_RDONLY), 0);
  EXPECT_EQ(opens(directory_ / "kubelet/device-plugins/checkpoint", O_WRONLY), EACCES);
  EXPECT_EQ(opens(directory_ / "kubelet/pods/secret", O_RDONLY), EACCES);
  EXPECT_EQ(replaces("kubelet/device-plugins"), EACCES);
}

TEST_F(GatePlaces, OfFilesThatItKeepsAreWrittenAndNoOthersBesideThem) {
  for (const char* name : {"cdi", "kubelet/plugins/vfio.example.org/dra-device-metadata"}) {
    EXPECT_EQ(replaces(name), 0) << name;
  }
  for (const char* name : {"state", "state/bindings", "state/holds", "log"}) {
    EXPECT_EQ(replaces(name), EACCES) << name;
  }
  EXPECT_EQ(opens(directory_ / "state/plugind.lock", O_WRONLY), 0);
  EXPECT_EQ(opens(directory_ / "state/lock", O_WRONLY), EACCES);
  EXPECT_EQ(opens(directory_ / "etc/plugind", O_RDONLY), 0);
  EXPECT_EQ(opens(directory_ / "etc/plugind", O_WRONLY), EACCES);
  EXPECT_EQ(
      confined([&]() { return mkdir((directory_ / "cdi/x").c_str(), 0700) == 0 ? 0 : errno; }),
      EACCES);
}

TEST_F(GatePlaces, OfTheLeaseIsNotEmptied) {
  if (landlockAbi() < 3) GTEST_SKIP() << "this kernel's Landlock does not judge truncation";
  EXPECT_EQ(opens(directory_ / "state/plugind.lock", O_WRONLY | O_TRUNC), EACCES);
}

TEST_F(GatePlaces, OfTheRecordAreWritten) {
  auto opened = AllocationRecords::open(options_.recordDir, "this-boot");
  ASSERT_TRUE(opened);
  AllocationRecords records = kj::mv(opened).value();
  EXPECT_EQ(confined([&]() {
              const std::vector<UnitId> members{*Bdf::parse("0000:01:00.0")};
              if (!records.allocate(members, "note", 1)) return records.lastError();
              records.release(members);
              records.keepOnly(1);
              return records.complete() ? 0 : records.lastError();
            }),
            0);
}

TEST_F(GatePlaces, OfExclusionsAreListedAndNotRead) {
  std::ofstream(directory_ / "state/holds/0000:01:00.0") << "text\n";
  EXPECT_EQ(confined([&]() {
              const auto devices = devicesNamedIn(AT_FDCWD, (directory_ / "state/holds").c_str());
              return devices ? (devices->size() == 1 ? 0 : -1) : devices.error().error;
            }),
            0);
  EXPECT_EQ(opens(directory_ / "state/holds/0000:01:00.0", O_RDONLY), EACCES);
}

TEST_F(GatePlaces, AreFewerWithoutTheRightToSpecsAndWithoutADriver) {
  options_.plugindRights = "watch,kubelet";
  options_.draDriver.clear();
  EXPECT_EQ(replaces("cdi"), EACCES);
  EXPECT_EQ(listens("kubelet/plugins_registry"), EACCES);
  EXPECT_EQ(listens("kubelet/device-plugins"), 0);
}

TEST_F(GatePlaces, ThatAreMissingAreOpenedFromTheDirectoryAboveUnlessThatIsRefused) {
  fs::remove_all(directory_ / "kubelet");
  EXPECT_THAT(allowed().above, testing::Contains(directory_ / "kubelet/device-plugins"));
  EXPECT_EQ(listens("."), 0);
  EXPECT_EQ(listens("log"), 0) << "as much wider as it says on the log";
  options_.requireLandlock = true;
  EXPECT_EQ(opens(directory_ / "etc/plugind", O_RDONLY), kNoLandlock);
}

TEST_F(GatePlaces, EachHaveARightAndAReason) {
  for (const PlaceRow& row : kGatePlaces) {
    EXPECT_NE(row.rights, 0U) << row.place;
    EXPECT_FALSE(row.reason.empty()) << row.place;
  }
}

}  // namespace
}  // namespace vfiogate::test
