#include "privd/uevent_text.h"

#include <gtest/gtest.h>

#include <string>

namespace vfiogate {
namespace {

/// Fields as the kernel sends them: each ended by a zero byte.
std::string datagram(std::initializer_list<const char*> fields) {
  std::string text;
  for (const char* field : fields) text += std::string(field) + '\0';
  return text;
}

TEST(UeventText, BindOfAPciDeviceIsAHint) {
  EXPECT_TRUE(isHint(
      datagram({"bind@/devices/pci0000:00/0000:01:00.0", "ACTION=bind",
                "DEVPATH=/devices/pci0000:00/0000:01:00.0", "SUBSYSTEM=pci", "DRIVER=vfio-pci"})));
}

TEST(UeventText, SoAreVfiosOwnEvents) {
  for (const char* subsystem : {"vfio", "vfio-dev", "mdev", "iommu", "drivers"}) {
    EXPECT_TRUE(isHint(datagram({"add@/x", (std::string("SUBSYSTEM=") + subsystem).c_str()})));
  }
}

TEST(UeventText, EventsOfOtherSubsystemsAreNone) {
  EXPECT_FALSE(isHint(datagram({"add@/devices/x", "SUBSYSTEM=block"})));
  EXPECT_FALSE(isHint(datagram({"add@/devices/x", "SUBSYSTEM=pci_express"})));
  EXPECT_FALSE(isHint(datagram({"add@/devices/x", "XSUBSYSTEM=pci"})));
}

TEST(UeventText, WhatIsNoEventIsNone) {
  EXPECT_FALSE(isHint(""));
  EXPECT_FALSE(isHint("SUBSYSTEM=pci"));
  EXPECT_FALSE(isHint(std::string("\0", 1)));
  EXPECT_FALSE(isHint(std::string(3, '\0')));
  EXPECT_FALSE(isHint(datagram({"libudev", "SUBSYSTEM=pci"})));
  EXPECT_FALSE(isHint("add@/x"));
  EXPECT_FALSE(isHint(std::string("add@/x\0SUBSYSTEM=pc", 18)));
}

}  // namespace
}  // namespace vfiogate
