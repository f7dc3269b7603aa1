// The binder's Landlock table.

#include "privd/sandbox/binder_places.h"

#include "privd/state/allocation_files.h"
#include "tests/unit/privd/places.h"

namespace vfiogate::test {
namespace {

class BinderPlaces : public Places {
protected:
  Result<PlacesHeld, StepFailure> confine() override {
    BinderOptions options;
    options.sysfs = options_.sysfs;
    options.dev = options_.dev;
    options.stateDir = options_.stateDir;
    options.recordDir = options_.recordDir;
    options.binding = options_.binding;
    return confineTo(allowedPlaces(options, *SysfsRoot::open(options_.sysfs)), false);
  }
};

TEST_F(BinderPlaces, OfTheHostAreClosed) {
  EXPECT_EQ(opens("/etc/shadow", O_RDONLY), EACCES);
  EXPECT_EQ(opens("/etc/passwd", O_RDONLY), EACCES);
  EXPECT_EQ(opens("/", O_RDONLY | O_DIRECTORY), EACCES);
  EXPECT_EQ(opens("/vfiogate-was-here", O_WRONLY | O_CREAT), EACCES);
  EXPECT_EQ(opens("/proc/self/environ", O_RDONLY), EACCES);
  EXPECT_EQ(opens(directory_ / "new", O_WRONLY | O_CREAT), EACCES);
  EXPECT_EQ(confined([]() {
              const char* const words[] = {"true", nullptr};
              execv("/bin/true", const_cast<char* const*>(words));
              return errno;
            }),
            EACCES);
  EXPECT_EQ(opens("/proc/swaps", O_RDONLY), 0);
}

TEST_F(BinderPlaces, OfSysfsAreReadAndOnlyWhatBindsIsWritten) {
  const std::string pci = hardware_.sysfs() + "/bus/pci/";
  EXPECT_EQ(opens(pci + "devices/0000:01:00.0/vendor", O_RDONLY), 0);
  EXPECT_EQ(opens(pci + "devices", O_RDONLY | O_DIRECTORY), 0);
  EXPECT_EQ(opens(pci + "devices/0000:01:00.0/vendor", O_WRONLY), 0) << "of the root complex";
  EXPECT_EQ(opens(pci + "drivers_probe", O_WRONLY), 0);
  EXPECT_EQ(opens(pci + "rescan", O_WRONLY), EACCES);
  EXPECT_EQ(opens(hardware_.sysfs() + "/devices/system/online", O_WRONLY), EACCES);
  EXPECT_EQ(opens(hardware_.sysfs() + "/devices/system/online", O_RDONLY), 0);
}

TEST_F(BinderPlaces, OfTheKubeletAreClosed) {
  EXPECT_EQ(listens("kubelet/device-plugins"), EACCES);
  EXPECT_EQ(opens(directory_ / "kubelet/device-plugins/checkpoint", O_RDONLY), EACCES);
  EXPECT_EQ(replaces("cdi"), EACCES);
  EXPECT_EQ(opens(directory_ / "etc/plugind", O_RDONLY), EACCES);
}

TEST_F(BinderPlaces, OfFilesThatItKeepsAreWrittenAndNoOthersBesideThem) {
  for (const char* name : {"state/bindings", "state/holds", "state/declared", "log"}) {
    EXPECT_EQ(replaces(name), 0) << name;
  }
  EXPECT_EQ(replaces("state"), EACCES);
  EXPECT_EQ(replaces("state/other"), EACCES);
  EXPECT_EQ(opens(directory_ / "state/plugind.lock", O_RDONLY), 0);
  EXPECT_EQ(opens(directory_ / "state/plugind.lock", O_WRONLY), EACCES);
  EXPECT_EQ(opens(directory_ / "state/lock", O_WRONLY), EACCES);
  EXPECT_EQ(opens(directory_ / "log/audit.jsonl", O_RDWR | O_APPEND), 0);
}

TEST_F(BinderPlaces, OfTheRecordAreLocked) {
  const auto files = AllocationFiles::open(options_.recordDir, "this-boot");
  ASSERT_TRUE(files);
  EXPECT_EQ(confined([&]() {
              const auto locks = files->lock({*Bdf::parse("0000:01:00.0")});
              return locks ? 0 : locks.error();
            }),
            0);
}

TEST_F(BinderPlaces, EachHaveARightAndAReason) {
  for (const PlaceRow& row : kBinderPlaces) {
    EXPECT_NE(row.rights, 0U) << row.place;
    EXPECT_FALSE(row.reason.empty()) << row.place;
  }
}

}  // namespace
}  // namespace vfiogate::test
