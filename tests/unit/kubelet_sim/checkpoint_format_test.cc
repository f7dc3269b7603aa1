#include "sim/kubelet/base/checkpoint_format.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>

namespace vfiogate::sim {
namespace {

std::string readData(const std::string& name) {
  std::ifstream file(std::string(std::getenv("VFIOGATE_SOURCE")) + "/tests/data/" + name);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

TEST(CheckpointFormat, WritesTheBytesOfARealKubelet) {
  const std::string text = readData("checkpoint-1.36.2-one-pod.json");
  const auto checkpoint = parseCheckpoint(text);
  ASSERT_TRUE(checkpoint);
  EXPECT_EQ(formatCheckpoint(*checkpoint), text);
}

TEST(CheckpointFormat, HidesHtmlAsGoDoes) {
  Checkpoint checkpoint;
  checkpoint.registered = {{"example.com/gpu", {"a<b>&c"}}};
  const std::string text = formatCheckpoint(checkpoint);
  EXPECT_THAT(text, testing::HasSubstr(R"("a\u003cb\u003e\u0026c")"));
  const auto read = parseCheckpoint(text);
  ASSERT_TRUE(read);
  EXPECT_EQ(*read, checkpoint);
}

TEST(CheckpointFormat, WhatIsNoCheckpointIsNone) {
  EXPECT_FALSE(parseCheckpoint(""));
  EXPECT_FALSE(parseCheckpoint("{"));
  EXPECT_FALSE(parseCheckpoint("[]"));
  EXPECT_FALSE(parseCheckpoint(R"({"Data":{"PodDeviceEntries":null,"RegisteredDevices":{}},)"
                               R"("Checksum":3467439660})"))
      << "one less than the right checksum";
}

TEST(CheckpointFormat, VersionOneIsNone) {
  EXPECT_FALSE(parseCheckpoint(
      R"({"Data":{"PodDeviceEntries":[{"PodUID":"pod1","ContainerName":"con1",)"
      R"("ResourceName":"vendor.io/r1","DeviceIDs":["dev1","dev2"],"AllocResp":"CgZBImJcAP9+"}],)"
      R"("RegisteredDevices":{"vendor.io/r1":["dev1","dev2"]}},"Checksum":3577701631})"));
}

struct Vector {
  const char* name;
  std::string file;
  std::uint32_t checksum;
};

class CheckpointVector : public testing::TestWithParam<Vector> {};

TEST_P(CheckpointVector, HasTheKubeletsChecksum) {
  const auto checkpoint = parseCheckpoint(GetParam().file);
  ASSERT_TRUE(checkpoint);
  EXPECT_EQ(checksumOf(*checkpoint), GetParam().checksum);
  EXPECT_EQ(parseCheckpoint(formatCheckpoint(*checkpoint)), checkpoint);
}

INSTANTIATE_TEST_SUITE_P(
    Contract, CheckpointVector,
    testing::Values(
        Vector{"Empty",
               R"({"Data":{"PodDeviceEntries":null,"RegisteredDevices":{}},"Checksum":3467439661})",
               3467439661U},
        Vector{
            "OneResource",
            R"({"Data":{"PodDeviceEntries":null,"RegisteredDevices":{"example.com/gpu":[]}},"Checksum":2838580107})",
            2838580107U},
        Vector{
            "OneEntry",
            R"({"Data":{"PodDeviceEntries":[{"PodUID":"p1","ContainerName":"c1","ResourceName":"example.com/gpu","DeviceIDs":{"-1":["a"],"2":["b","c"],"10":["d"]},"AllocResp":"CAA="}],"RegisteredDevices":{"example.com/nic":[],"example.com/gpu":["a"]}},"Checksum":340430919})",
            340430919U},
        Vector{
            "WithAnAnswer",
            R"({"Data":{"PodDeviceEntries":[{"PodUID":"b2c5d1a0-0d57-4b7e-9d6d-6f0a3c1f2e11","ContainerName":"compute","ResourceName":"example.com/gpu","DeviceIDs":{"0":["0000:17:00.0"]},"AllocResp":"CiwKHFBDSV9SRVNPVVJDRV9FWEFNUExFX0NPTV9HUFUSDDAwMDA6MTc6MDAuMBolCg4vZGV2L3ZmaW8vdmZpbxIOL2Rldi92ZmlvL3ZmaW8aA21ydxohCgwvZGV2L3ZmaW8vMTISDC9kZXYvdmZpby8xMhoDbXJ3Kh8KHWV4YW1wbGUuY29tL3ZmaW89MDAwMC0xNy0wMC0w"}],"RegisteredDevices":{"example.com/gpu":["0000:17:00.0","0000:65:00.0"]}},"Checksum":4149292538})",
            4149292538U}),
    [](const auto& row) { return std::string(row.param.name); });

TEST(CheckpointOfARealKubelet, IsReadAndAgreesWithItsChecksum) {
  for (const char* name : {"checkpoint-1.36.2-no-pod.json", "checkpoint-1.36.2-one-pod.json"}) {
    EXPECT_TRUE(parseCheckpoint(readData(name))) << name;
  }
}

}  // namespace
}  // namespace vfiogate::sim
