#include "tests/support/kubelet_sim/checkpoint_format.h"

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

struct Vector {
  const char* title;
  std::string text;
};

void PrintTo(const Vector& vector, std::ostream* out) {
  *out << vector.title;
}

class KnownCheckpoint : public testing::TestWithParam<Vector> {};

TEST_P(KnownCheckpoint, IsReadWithItsChecksum) {
  ASSERT_FALSE(GetParam().text.empty());
  EXPECT_TRUE(parseCheckpoint(GetParam().text)) << GetParam().text;
}

TEST_P(KnownCheckpoint, SurvivesBeingWrittenAndRead) {
  const auto once = parseCheckpoint(GetParam().text);
  ASSERT_TRUE(once);
  const auto twice = parseCheckpoint(formatCheckpoint(*once));
  ASSERT_TRUE(twice) << formatCheckpoint(*once);
  EXPECT_EQ(*once, *twice);
}

INSTANTIATE_TEST_SUITE_P(
    Vectors, KnownCheckpoint,
    testing::Values(
        Vector{"Empty", R"({"Data":{"PodDeviceEntries":null,"RegisteredDevices":{}},)"
                        R"("Checksum":3467439661})"},
        Vector{"OneResource", R"({"Data":{"PodDeviceEntries":null,"RegisteredDevices":)"
                              R"({"example.com/gpu":[]}},"Checksum":2838580107})"},
        Vector{"NodesByNumber",
               R"({"Data":{"PodDeviceEntries":[{"PodUID":"p1","ContainerName":"c1",)"
               R"("ResourceName":"example.com/gpu",)"
               R"("DeviceIDs":{"-1":["a"],"2":["b","c"],"10":["d"]},"AllocResp":"CAA="}],)"
               R"("RegisteredDevices":{"example.com/nic":[],"example.com/gpu":["a"]}},)"
               R"("Checksum":340430919})"},
        Vector{"RealResponse",
               R"({"Data":{"PodDeviceEntries":[{"PodUID":"b2c5d1a0-0d57-4b7e-9d6d-6f0a3c1f2e11",)"
               R"("ContainerName":"compute","ResourceName":"example.com/gpu",)"
               R"("DeviceIDs":{"0":["0000:17:00.0"]},"AllocResp":)"
               R"("CiwKHFBDSV9SRVNPVVJDRV9FWEFNUExFX0NPTV9HUFUSDDAwMDA6MTc6MDAuMBolCg4vZGV2L3Zm)"
               R"(aW8vdmZpbxIOL2Rldi92ZmlvL3ZmaW8aA21ydxohCgwvZGV2L3ZmaW8vMTISDC9kZXYvdmZpby8xM)"
               R"(hoDbXJ3Kh8KHWV4YW1wbGUuY29tL3ZmaW89MDAwMC0xNy0wMC0w"}],)"
               R"("RegisteredDevices":{"example.com/gpu":["0000:17:00.0","0000:65:00.0"]}},)"
               R"("Checksum":4149292538})"},
        Vector{"RealWithoutPod", readData("checkpoint-1.36.2-no-pod.json")},
        Vector{"RealWithPod", readData("checkpoint-1.36.2-one-pod.json")}),
    [](const auto& row) { return row.param.title; });

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

}  // namespace
}  // namespace vfiogate::sim
