#include "privd/scan/uevent_socket.h"

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
  EXPECT_TRUE(hintOf(
      datagram({"bind@/devices/pci0000:00/0000:01:00.0", "ACTION=bind",
                "DEVPATH=/devices/pci0000:00/0000:01:00.0", "SUBSYSTEM=pci", "DRIVER=vfio-pci"})));
}

TEST(UeventText, SoAreVfiosOwnEvents) {
  for (const char* subsystem : {"vfio", "vfio-dev", "mdev", "iommu", "drivers", "egm"}) {
    EXPECT_TRUE(hintOf(datagram({"add@/x", (std::string("SUBSYSTEM=") + subsystem).c_str()})));
  }
}

Places placesOf(const char* path, const char* subsystem) {
  const std::string head = std::string("change@") + path;
  const auto hint =
      hintOf(datagram({head.c_str(), (std::string("SUBSYSTEM=") + subsystem).c_str()}));
  return hint.value_or(Places{});
}

TEST(UeventText, TheLastFunctionOfThePathIsThePlace) {
  const Places card{.devices = {*Bdf::parse("0000:01:00.0")}, .groups = {}};
  EXPECT_EQ(placesOf("/devices/pci0000:00/0000:00:01.0/0000:01:00.0", "pci"), card);
  EXPECT_EQ(placesOf("/devices/pci0000:00/0000:00:01.0/0000:01:00.0/vfio-dev/vfio0", "vfio-dev"),
            card);
}

TEST(UeventText, AMediatedDeviceIsNamedWithItsParent) {
  const std::string uuid = "b0f8a5a0-0000-0000-0000-000000000000";
  const std::string path = "/devices/pci0000:00/0000:01:00.0/" + uuid;
  const Places both{
      .devices = {*Bdf::parse("0000:01:00.0")}, .groups = {}, .mediated = {*Uuid::parse(uuid)}};
  EXPECT_EQ(placesOf(path.c_str(), "mdev"), both);
  EXPECT_EQ(placesOf((path + "/vfio-dev/vfio3").c_str(), "vfio-dev"), both);
  const Places alone{.devices = {}, .groups = {}, .mediated = {*Uuid::parse(uuid)}};
  EXPECT_EQ(placesOf(("/devices/virtual/mtty/mtty/" + uuid).c_str(), "mdev"), alone);
}

TEST(UeventText, AGroupsNodeNamesTheGroup) {
  const Places group{.devices = {}, .groups = {IommuGroupId(12)}};
  EXPECT_EQ(placesOf("/devices/virtual/vfio/12", "vfio"), group);
}

TEST(UeventText, WhatNamesNoPlaceMayBeAnywhere) {
  EXPECT_EQ(placesOf("/bus/pci/drivers/vfio-pci", "drivers"), Places{});
  EXPECT_EQ(placesOf("/devices/virtual/vfio/noiommu-0", "vfio"), Places{});
  EXPECT_EQ(placesOf("/devices/virtual/misc/vfio", "misc"), Places{});
  EXPECT_EQ(placesOf("", "pci"), Places{});
  EXPECT_EQ(placesOf("///", "pci"), Places{});
}

TEST(UeventText, EventsOfOtherSubsystemsAreNone) {
  EXPECT_FALSE(hintOf(datagram({"add@/devices/x", "SUBSYSTEM=block"})));
  EXPECT_FALSE(hintOf(datagram({"add@/devices/x", "SUBSYSTEM=pci_express"})));
  EXPECT_FALSE(hintOf(datagram({"add@/devices/x", "XSUBSYSTEM=pci"})));
}

TEST(UeventText, WhatIsNoEventIsNone) {
  EXPECT_FALSE(hintOf(""));
  EXPECT_FALSE(hintOf("SUBSYSTEM=pci"));
  EXPECT_FALSE(hintOf(std::string("\0", 1)));
  EXPECT_FALSE(hintOf(std::string(3, '\0')));
  EXPECT_FALSE(hintOf(datagram({"libudev", "SUBSYSTEM=pci"})));
  EXPECT_FALSE(hintOf("add@/x"));
  EXPECT_FALSE(hintOf(std::string("add@/x\0SUBSYSTEM=pc", 18)));
}

}  // namespace
}  // namespace vfiogate
