// A card takes the place of one that was to be bound.

#include "sim/base/child_process.h"
#include "tests/support/fake_sysfs.h"

#include <gmock/gmock.h>

#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace vfiogate::test {
namespace {

constexpr const char* kSlot = "0000:01:00.0";

/// A network card on its host driver; whether its interface is up is no part of privd's snapshot.
void addCard(FakeSysfs& hardware) {
  hardware.add({.address = kSlot, .device = 0x2723, .classCode = 0x020000, .driver = "iwlwifi"});
  const auto interface = hardware.directoryOf(kSlot) / "net/wlan0";
  const std::filesystem::path list = hardware.sysfs() + "/class/net";
  std::filesystem::create_directories(interface);
  std::filesystem::create_directories(list);
  std::filesystem::create_symlink(std::filesystem::relative(interface, list), list / "wlan0");
}

void setInterfaceFlags(const FakeSysfs& hardware, const char* flags) {
  std::ofstream(hardware.directoryOf(kSlot) / "net/wlan0/flags") << flags << "\n";
}

TEST(Swap, ACardInThePlaceOfADeclaredOneThatWasRefusedIsNotBound) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root: privd serves only as root";
  const TempDir dir;
  std::filesystem::create_directories(dir / "kubelet/device-plugins");
  FakeSysfs hardware;
  std::filesystem::create_directories(hardware.sysfs() + "/bus/pci/drivers/vfio-pci");
  addCard(hardware);
  setInterfaceFlags(hardware, "0x1003");
  ChildProcess privd({builtProgram("privd"),
                      "serve",
                      "--plugind",
                      dir / "p.sock",
                      "--sysfs",
                      hardware.sysfs(),
                      "--dev",
                      hardware.dev(),
                      "--kubelet-dir",
                      dir / "kubelet",
                      "--state-dir",
                      dir / "state",
                      "--audit-log",
                      dir / "audit.jsonl",
                      "--uevents",
                      "off",
                      "--rescan",
                      "1",
                      "--allow",
                      "class=02",
                      "--declare",
                      std::string(kSlot) + "=10de:2723",
                      "--declare",
                      "10de:0001"},
                     filteredEnvironment());
  ASSERT_TRUE(privd.saysAll({"event=declared_refused", kSlot, "is up"})) << privd.output();
  // Nothing would speak against the other one.
  setInterfaceFlags(hardware, "0x1002");
  hardware.setIds({.address = kSlot, .device = 0x2725, .classCode = 0x020000});
  hardware.add({.address = "0000:02:00.0",
                .device = 0x0001,
                .classCode = 0x020000,
                .driver = "iwlwifi",
                .group = 8});
  ASSERT_TRUE(privd.saysAll({"event=declared_refused", "0000:02:00.0"})) << privd.output();
  EXPECT_EQ(privd.count("event=driver_change"), 0U) << privd.output();
}

}  // namespace
}  // namespace vfiogate::test
