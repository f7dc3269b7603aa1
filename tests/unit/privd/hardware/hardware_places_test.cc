// The hardware process's Landlock table.

#include "privd/sandbox/hardware_places.h"

#include "tests/unit/privd/places.h"

namespace vfiogate::test {
namespace {

class HardwarePlaces : public Places {
protected:
  Result<PlacesHeld, StepFailure> confine() override {
    HardwareOptions options;
    options.sysfs = hardware_.sysfs();
    return confineTo(allowedPlaces(kHardwarePlaces, placeValuesOf(options)), false);
  }
};

TEST_F(HardwarePlaces, OfSysfsAreReadAndNothingIsWritten) {
  const std::string pci = hardware_.sysfs() + "/bus/pci/";
  EXPECT_EQ(opens(pci + "devices/0000:01:00.0/vendor", O_RDONLY), 0);
  EXPECT_EQ(opens(pci + "devices", O_RDONLY | O_DIRECTORY), 0);
  EXPECT_EQ(opens(pci + "devices/0000:01:00.0/vendor", O_WRONLY), EACCES);
  EXPECT_EQ(opens(pci + "drivers_probe", O_WRONLY), EACCES);
}

TEST_F(HardwarePlaces, OfTheHostAndOfPrivdAreClosed) {
  for (const std::string& path :
       {std::string("/etc/passwd"), std::string("/proc/swaps"), directory_ / "log/audit.jsonl",
        directory_ / "state/plugind.lock", directory_ / "kubelet/device-plugins/checkpoint"}) {
    EXPECT_EQ(opens(path, O_RDONLY), EACCES) << path;
  }
  for (const std::string& path : {directory_ / "new", std::string("/dev/shm/vfiogate-new")}) {
    EXPECT_EQ(opens(path, O_WRONLY | O_CREAT), EACCES) << path;
  }
  EXPECT_EQ(listens("kubelet/device-plugins"), EACCES);
}

TEST_F(HardwarePlaces, EachHaveARightAndAReason) {
  for (const PlaceRow& row : kHardwarePlaces) {
    EXPECT_NE(row.rights, 0U) << row.place;
    EXPECT_FALSE(row.reason.empty()) << row.place;
  }
}

}  // namespace
}  // namespace vfiogate::test
