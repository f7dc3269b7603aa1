#include "privd/cli/base/running_changes.h"

#include "privd/base/instance_lock.h"
#include "privd/cli/base/device_state.h"
#include "privd/cli/base/node_view.h"
#include "sim/base/temp_dir.h"

#include <gmock/gmock.h>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace vfiogate {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;

const Bdf kOne = *Bdf::parse("0000:01:00.0");
const Bdf kTwo = *Bdf::parse("0000:02:00.0");

class Changes : public testing::Test {
protected:
  Changes() {
    fs::create_directory(dir_ / "devices");
    fs::create_directory(dir_ / "proc");
    std::ofstream(dir_ / "proc/uptime") << "1000.00 0.00\n";
    for (const Bdf& each : {kOne, kTwo}) std::ofstream(fileOf(each)) << "";
  }
  std::string fileOf(const Bdf& address) const { return dir_ / "devices/" + address.str(); }

  /// A process that has the record's file open, and began so many seconds after the boot.
  void process(const std::string& pid, const Bdf& record, double began, bool locks,
               const std::string& attribute) const {
    const fs::path place = dir_ / "proc/" + pid;
    fs::create_directories(place / "fd");
    fs::create_directories(place / "fdinfo");
    fs::create_symlink(fileOf(record), place / "fd/3");
    fs::create_symlink(dir_.path(), place / "root");
    if (!attribute.empty()) fs::create_symlink(attribute, place / "fd/4");
    struct stat status = {};
    ASSERT_EQ(stat(fileOf(record).c_str(), &status), 0);
    std::ofstream info(place / "fdinfo/3");
    info << "pos:\t0\nflags:\t0100002\n";
    if (locks) info << "lock:\t1: FLOCK  ADVISORY  WRITE 9 00:19:" << status.st_ino << " 0 EOF\n";
    std::ofstream out(place / "stat");
    out << pid << " (a (b) c) S";
    for (int field = 4; field < 22; ++field) out << " 7";
    out << " " << static_cast<long>(began * static_cast<double>(sysconf(_SC_CLK_TCK))) << " 7 7\n";
  }
  RunningChanges read() const { return readRunningChanges(dir_ / "devices", dir_ / "proc"); }

  TempDir dir_;
};

TEST_F(Changes, AreWhatARealProcessHasLocked) {
  const int fd = open(fileOf(kOne).c_str(), O_RDWR | O_CLOEXEC);
  ASSERT_GE(fd, 0);
  EXPECT_EQ(readRunningChanges(dir_ / "devices", "/proc"), RunningChanges{}) << "only open";
  ASSERT_TRUE(lockIfFree(fd));
  const RunningChanges now = readRunningChanges(dir_ / "devices", "/proc");
  EXPECT_THAT(now.devices, ElementsAre(kOne));
  EXPECT_TRUE(now.stuck.empty());
  close(fd);
  EXPECT_EQ(readRunningChanges(dir_ / "devices", "/proc"), RunningChanges{});
}

TEST_F(Changes, AreStuckWhereAWriteOfTheirsIsOld) {
  struct Process {
    const char* what;
    double began;
    const char* attribute;
    bool locks;
    bool runs;
    bool stuck;
  };
  fs::create_directories(dir_ / "sys/devices/pci0000:00/0000:02:00.0");
  std::ofstream(dir_ / "sys/devices/pci0000:00/0000:02:00.0/sriov_totalvfs") << "8\n";
  const char* const vfs = "/sys/devices/pci0000:00/0000:02:00.0/sriov_numvfs";
  const char* const unread = "/sys/devices/pci0000:00/0000:01:00.0/sriov_numvfs";
  const Process rows[] = {
      {"a write of 6 s", 994, "/sys/bus/pci/drivers/vfio-pci/bind", true, true, true},
      {"a write of 4 s", 996, "/sys/bus/pci/drivers/vfio-pci/bind", true, true, false},
      {"whoever waits for it", 10, "", true, true, false},
      {"an override", 10, "/sys/devices/pci0000:00/0000:01:00.0/driver_override", true, true, true},
      {"virtual functions for 12 s", 988, vfs, true, true, false},
      {"virtual functions for 14 s, a second for each of 8", 986, vfs, true, true, true},
      {"virtual functions of nobody knows how many", 10, unread, true, true, false},
      {"no lock", 10, "/sys/bus/pci/drivers/vfio-pci/bind", false, false, false},
  };
  for (const Process& row : rows) {
    fs::remove_all(dir_ / "proc/9");
    process("9", kTwo, row.began, row.locks, row.attribute);
    const RunningChanges now = read();
    EXPECT_EQ(now.devices.contains(kTwo), row.runs) << row.what;
    EXPECT_EQ(now.stuck.contains(kTwo), row.stuck) << row.what;
    EXPECT_FALSE(now.devices.contains(kOne)) << row.what;
  }
}

/// Another node's file of the same name and number, on a filesystem of its own.
TEST_F(Changes, AreNotThoseOfAnotherNodeBeside) {
  process("9", kOne, 990, true, "/sys/bus/pci/drivers/vfio-pci/bind");
  ASSERT_THAT(read().devices, ElementsAre(kOne));
  fs::create_directory(dir_ / "beside");
  std::ofstream(dir_ / "beside/" + kOne.str()) << "";
  fs::remove(dir_ / "proc/9/fd/3");
  fs::create_symlink(dir_ / "beside/" + kOne.str(), dir_ / "proc/9/fd/3");
  EXPECT_EQ(read(), RunningChanges{});
}

TEST_F(Changes, WhatCannotBeListedIsNotKnown) {
  EXPECT_EQ(readRunningChanges("", dir_ / "proc"), RunningChanges{});
  EXPECT_EQ(readRunningChanges(dir_ / "missing", dir_ / "proc"), RunningChanges{});
  EXPECT_THAT(readRunningChanges(fileOf(kOne), dir_ / "proc").problem, HasSubstr("Not a direct"));
}

TEST(RunningState, IsToldBeforeWhatItMayMendAndAfterWhatLasts) {
  Snapshot snapshot;
  const IommuGroupId id(1);
  PciDevice device{.address = kOne};
  device.vendor = device.device = 1;
  device.classCode = 0x030000;
  device.headerType = 0;
  device.group = id;
  device.driver = "nouveau";
  snapshot.devices.emplace(kOne, device);
  snapshot.groups.emplace(id, IommuGroup{.id = id, .members = {kOne}});
  EXPECT_EQ(stateOf(snapshot, device), "host-driver");
  markChanges(snapshot, {.devices = {kOne}, .stuck = {}, .problem = {}});
  EXPECT_EQ(stateOf(snapshot, device), "binding");
  EXPECT_THAT(whyOf(snapshot, device), HasSubstr("being changed"));
  markChanges(snapshot, {.devices = {kOne}, .stuck = {kOne}, .problem = {}});
  EXPECT_EQ(stateOf(snapshot, device), "write-stuck");
  markExcluded(snapshot, {{kOne}, {}});
  EXPECT_EQ(stateOf(snapshot, device), "operator-excluded");
  markChanges(snapshot, {});
  markExcluded(snapshot, {});
  EXPECT_EQ(stateOf(snapshot, device), "host-driver");
}

}  // namespace
}  // namespace vfiogate
