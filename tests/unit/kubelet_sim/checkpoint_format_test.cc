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
