// What is found below a function, however deep it hangs there.

#include "privd/bind/read_facts.h"

#include "tests/support/fake_sysfs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <fstream>

namespace vfiogate {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr const char* kUsb = "0000:00:14.0";
constexpr const char* kOther = "0000:00:15.0";

class FactsBelow : public testing::Test {
protected:
  FactsBelow() {
    hardware_.add({.address = kUsb, .classCode = 0x0c0330, .driver = "xhci_hcd"});
    hardware_.add({.address = kOther, .classCode = 0x0c0330, .driver = "xhci_hcd"});
  }

  /// Something below a function, with its attributes, as `list` shows it.
  void hang(const std::string& place, const std::string& list,
            const std::map<std::string, std::string>& attributes = {},
            const char* function = kUsb) {
    const auto at = hardware_.directoryOf(function) / place;
    std::filesystem::create_directories(at);
    for (const auto& [name, text] : attributes) {
      std::filesystem::create_directories((at / name).parent_path());
      std::ofstream(at / name) << text << "\n";
    }
    const auto entry = std::filesystem::path(hardware_.sysfs()) / list / at.filename();
    std::filesystem::create_directories(entry.parent_path());
    std::filesystem::create_symlink(std::filesystem::relative(at, entry.parent_path()), entry);
  }
  void write(const std::string& path, const std::string& text) {
    const auto at = std::filesystem::path(hardware_.sysfs()) / path;
    std::filesystem::create_directories(at.parent_path());
    std::ofstream(at) << text << "\n";
  }

  DeviceFacts of(const char* address) {
    return of(PciDevice{.address = *Bdf::parse(address), .driver = "xhci_hcd"});
  }
  DeviceFacts of(const PciDevice& device) {
    const auto sysfs = SysfsRoot::open(hardware_.sysfs());
    const auto dev = DevRoot::open(hardware_.dev());
    const Bdf& function = device.address;
    Snapshot snapshot;
    snapshot.devices.emplace(function, device);
    return gatherEvidence(*sysfs, *dev, {}, snapshot, {function}, opened_).devices.at(function);
  }

  FakeSysfs hardware_;
  OpenDisks opened_;
};

TEST_F(FactsBelow, AnInterfaceOfAUsbAdapterIsTheControllers) {
  hang("usb1/1-4/1-4:1.0/net/enx0", "class/net", {{"flags", "0x1003"}});
  const DeviceFacts facts = of(kUsb);
  ASSERT_EQ(facts.interfaces.size(), 1U);
  EXPECT_EQ(facts.interfaces[0].name, "enx0");
  EXPECT_EQ(facts.interfaces[0].flags, 0x1003U);
  EXPECT_THAT(of(kOther).interfaces, IsEmpty());
}

TEST_F(FactsBelow, AnAdapterWhoseInterfaceIsInAnotherNamespaceIsKnownByItsEmptyPlace) {
  hang("usb1/1-4/1-4:1.0", "bus/usb/devices");
  EXPECT_THAT(of(kUsb).unseenInterfaces, IsEmpty());
  std::filesystem::create_directories(hardware_.directoryOf(kUsb) / "usb1/1-4/1-4:1.0/net");
  EXPECT_THAT(of(kUsb).unseenInterfaces, ElementsAre("1-4:1.0"));
  hang("usb1/1-4/1-4:1.0/net/enx0", "class/net", {{"flags", "0x1002"}});
  EXPECT_THAT(of(kUsb).unseenInterfaces, IsEmpty());
}

TEST_F(FactsBelow, OfAHiddenPathTheDiskThatIsMadeOfItIsOpened) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root: makes a device node";
  hang("nvme/nvme0/nvme0c0n1", "class/block");
  std::filesystem::create_directories(hardware_.sysfs() + "/class/block/nvme0n1");
  ASSERT_EQ(::mknod((hardware_.dev() + "/nvme0n1").c_str(), S_IFCHR | 0600, makedev(1, 3)), 0);
  const auto disks = of(kUsb).disks;
  ASSERT_EQ(disks.size(), 1U);
  EXPECT_EQ(disks[0].use.disk, "nvme0n1");
  EXPECT_EQ(disks[0].exclusive, Exclusive::kGot);
}

// The kernel lets nobody else open it exclusively, the same process neither.
TEST_F(FactsBelow, ADiskWithAPathBelowEachOfTwoFunctionsIsOpenedOnce) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root: makes a device node";
  hang("nvme/nvme0/nvme0c0n1", "class/block");
  hang("nvme/nvme1/nvme0c1n1", "class/block", {}, kOther);
  std::filesystem::create_directories(hardware_.sysfs() + "/class/block/nvme0n1");
  const std::string node = hardware_.dev() + "/nvme0n1";
  ASSERT_EQ(::mknod(node.c_str(), S_IFCHR | 0600, makedev(1, 3)), 0);
  for (const char* function : {kUsb, kOther}) {
    const auto disks = of(function).disks;
    ASSERT_EQ(disks.size(), 1U) << function;
    EXPECT_EQ(disks[0].use.disk, "nvme0n1");
    EXPECT_EQ(disks[0].exclusive, Exclusive::kGot) << function;
    std::filesystem::remove(node);
  }
  EXPECT_EQ(opened_.size(), 1U);
}

TEST_F(FactsBelow, KeyboardsAndMiceAreForHandsAndPlugsOfASoundCardAreNot) {
  hang("usb1/1-2/input/input5", "class/input",
       {{"capabilities/key", "1000000000007 ff800000000007ff febeffdff3cfffff fffffffffffffffe"},
        {"capabilities/rel", "0"}});
  hang("usb1/1-3/input/input6", "class/input",
       {{"capabilities/key", "1f0000 0 0 0 0"}, {"capabilities/rel", "143"}});
  hang("sound/card0/input7", "class/input", {{"capabilities/key", "0"}, {"capabilities/rel", "0"}});
  hang("usb1/1-5/input/input8", "class/input",
       {{"capabilities/key", "100000 0 0 0"}, {"capabilities/rel", "0"}});
  hang("usb1/1-6/input/input9", "class/input");
  EXPECT_THAT(of(kUsb).inputs, ElementsAre("input5", "input6", "input9"))
      << "the last one cannot be read";
}

TEST_F(FactsBelow, ATerminalIsAConsoleWhereTheKernelWritesToIt) {
  hang("usb1/1-7/1-7:1.0/ttyUSB0/tty/ttyUSB0", "class/tty");
  hang("usb1/1-8/1-8:1.0/ttyUSB1/tty/ttyUSB1", "class/tty");
  write("class/tty/console/active", "tty0 ttyUSB1");
  const DeviceFacts facts = of(kUsb);
  EXPECT_THAT(facts.terminals, ElementsAre("ttyUSB0"));
  EXPECT_THAT(facts.consoles, ElementsAre("ttyUSB1"));
}

TEST_F(FactsBelow, TheFirmwaresFramebufferIsOfItsDisplayWhereThatHasNoDriver) {
  const Bdf slot = *Bdf::parse(kUsb);
  const auto list = std::filesystem::path(hardware_.sysfs()) / "class/graphics";
  std::filesystem::create_directories(list);
  std::filesystem::create_directories(hardware_.sysfs() + "/devices/virtual/graphics/fbcon");
  std::filesystem::create_symlink("../../devices/virtual/graphics/fbcon", list / "fbcon");
  EXPECT_THAT(of({.address = slot, .bootVga = true}).consoles, IsEmpty());
  std::filesystem::create_symlink("../../devices/platform/efi-framebuffer.0/graphics/fb0",
                                  list / "fb0");
  EXPECT_THAT(of({.address = slot, .bootVga = true}).consoles, ElementsAre("fb0"));
  EXPECT_THAT(of(PciDevice{.address = slot}).consoles, IsEmpty());
  EXPECT_THAT(of({.address = slot, .driver = "nvidia", .bootVga = true}).consoles, IsEmpty())
      << "the guard boot-vga stands for it without";
  hang("simple-framebuffer.0/graphics/fb1", "class/graphics");
  EXPECT_THAT(of(PciDevice{.address = slot}).consoles, ElementsAre("fb1")) << "from Linux 6.9 on";
  EXPECT_THAT(of({.address = slot, .bootVga = true}).consoles, ElementsAre("fb0", "fb1"));
}

}  // namespace
}  // namespace vfiogate
