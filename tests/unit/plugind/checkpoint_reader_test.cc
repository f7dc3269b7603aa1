#include "plugind/checkpoint/checkpoint_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

#include "tests/support/seen/source_file.h"

namespace vfiogate {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

using Written = std::chrono::sys_time<std::chrono::nanoseconds>;

Result<CheckpointVersion, std::string> readIt(const std::string& text) {
  return readCheckpoint(text, Written{std::chrono::seconds{7}});
}

std::string whyNot(const std::string& text) {
  const auto version = readIt(text);
  return version ? "it was read" : version.error();
}

// The vectors of kubelet-contract.md 2.
struct Vector {
  const char* name;
  const char* text;
};
constexpr std::array kVectors{
    Vector{"empty",
           R"({"Data":{"PodDeviceEntries":null,"RegisteredDevices":{}},"Checksum":3467439661})"},
    Vector{
        "noHealthyDevice",
        R"({"Data":{"PodDeviceEntries":null,"RegisteredDevices":{"example.com/gpu":[]}},"Checksum":2838580107})"},
    Vector{
        "numaNodesInOrder",
        R"({"Data":{"PodDeviceEntries":[{"PodUID":"p1","ContainerName":"c1","ResourceName":"example.com/gpu","DeviceIDs":{"-1":["a"],"2":["b","c"],"10":["d"]},"AllocResp":"CAA="}],"RegisteredDevices":{"example.com/nic":[],"example.com/gpu":["a"]}},"Checksum":340430919})"},
    Vector{
        "aWholeAnswer",
        R"({"Data":{"PodDeviceEntries":[{"PodUID":"b2c5d1a0-0d57-4b7e-9d6d-6f0a3c1f2e11","ContainerName":"compute","ResourceName":"example.com/gpu","DeviceIDs":{"0":["0000:17:00.0"]},"AllocResp":"CiwKHFBDSV9SRVNPVVJDRV9FWEFNUExFX0NPTV9HUFUSDDAwMDA6MTc6MDAuMBolCg4vZGV2L3ZmaW8vdmZpbxIOL2Rldi92ZmlvL3ZmaW8aA21ydxohCgwvZGV2L3ZmaW8vMTISDC9kZXYvdmZpby8xMhoDbXJ3Kh8KHWV4YW1wbGUuY29tL3ZmaW89MDAwMC0xNy0wMC0w"}],"RegisteredDevices":{"example.com/gpu":["0000:17:00.0","0000:65:00.0"]}},"Checksum":4149292538})"},
    Vector{
        "v1",
        R"({"Data":{"PodDeviceEntries":[{"PodUID":"pod1","ContainerName":"con1","ResourceName":"vendor.io/r1","DeviceIDs":["dev1","dev2"],"AllocResp":"CgZBImJcAP9+"}],"RegisteredDevices":{"vendor.io/r1":["dev1","dev2"]}},"Checksum":3577701631})"},
};

class Vectors : public testing::TestWithParam<Vector> {};

TEST_P(Vectors, IsReadWithItsChecksum) {
  EXPECT_EQ(whyNot(GetParam().text), "it was read");
}

TEST_P(Vectors, TellsNothingWithAnotherChecksum) {
  std::string text = GetParam().text;
  text[text.size() - 2] = text[text.size() - 2] == '1' ? '2' : '1';
  EXPECT_THAT(whyNot(text), HasSubstr("of these data it would be"));
}

TEST_P(Vectors, TellsNothingWhenItIsCutAnywhere) {
  const std::string text = GetParam().text;
  for (std::size_t length = 0; length < text.size(); ++length) {
    EXPECT_FALSE(readIt(text.substr(0, length)).has_value()) << length;
  }
}

INSTANTIATE_TEST_SUITE_P(Contract, Vectors, testing::ValuesIn(kVectors),
                         [](const auto& each) { return each.param.name; });

TEST(CheckpointReader, AnIdOnSeveralNumaNodesIsOneId) {
  const auto version = readIt(kVectors[2].text);
  ASSERT_TRUE(version.has_value());
  ASSERT_THAT(version->entries, SizeIs(1));
  EXPECT_EQ(version->entries[0].podUid, "p1");
  EXPECT_EQ(version->entries[0].container, "c1");
  EXPECT_EQ(version->entries[0].resource, "example.com/gpu");
  EXPECT_THAT(version->entries[0].ids, ElementsAre("a", "b", "c", "d"));
  EXPECT_EQ(version->entries[0].allocated, std::nullopt);
  EXPECT_THAT(version->registered.at("example.com/nic"), IsEmpty());
  EXPECT_EQ(version->written, Written{std::chrono::seconds{7}});
}

TEST(CheckpointReader, TheOldFormatNamesTheSame) {
  const auto version = readIt(kVectors[4].text);
  ASSERT_TRUE(version.has_value());
  EXPECT_THAT(version->entries.at(0).ids, ElementsAre("dev1", "dev2"));
}

TEST(CheckpointReader, ReadsWhatARealKubeletWrote) {
  EXPECT_THAT(readIt(test::sourceText("tests/data/checkpoint-1.36.2-no-pod.json"))->entries,
              IsEmpty());
  const auto version = readIt(test::sourceText("tests/data/checkpoint-1.36.2-one-pod.json"));
  ASSERT_TRUE(version.has_value());
  EXPECT_THAT(version->entries.at(0).ids, ElementsAre("0000:00:00.0"));
  EXPECT_THAT(version->registered.at("nvidia.com/2684"), SizeIs(8));
}

struct Unknown {
  const char* text;
  const char* why;
};

TEST(CheckpointReader, WhatIsOfAnUnknownFormTellsNothing) {
  for (const Unknown& each : {
           Unknown{"", "not JSON"},
           Unknown{"[]", "the file is no object"},
           Unknown{R"({"Data":{},"Checksum":1})", "Data has no PodDeviceEntries"},
           Unknown{
               R"({"Data":{"PodDeviceEntries":null,"RegisteredDevices":{},"New":1},"Checksum":1})",
               "Data has keys of an unknown format"},
           Unknown{R"({"Data":{"PodDeviceEntries":null,"RegisteredDevices":[]},"Checksum":1})",
                   "RegisteredDevices is no object"},
           Unknown{R"({"Data":{"PodDeviceEntries":{},"RegisteredDevices":{}},"Checksum":1})",
                   "PodDeviceEntries is no list"},
           Unknown{R"({"Data":{"PodDeviceEntries":[7],"RegisteredDevices":{}},"Checksum":1})",
                   "PodDeviceEntries[0] is no object"},
           Unknown{
               R"({"Data":{"PodDeviceEntries":null,"RegisteredDevices":{"r":[1]}},"Checksum":1})",
               "an item that is no string"},
           Unknown{R"({"Data":{"PodDeviceEntries":null,"RegisteredDevices":{}},"Checksum":-1})",
                   "Checksum is no number"},
       }) {
    EXPECT_THAT(whyNot(each.text), HasSubstr(each.why)) << each.text;
  }
}

TEST(CheckpointReader, ANumaKeyIsANumberAsGoWritesIt) {
  for (const char* key : {"x", "01", "+1", "", "1.5", "99999999999999999999"}) {
    const std::string text =
        R"({"Data":{"PodDeviceEntries":[{"PodUID":"p","ContainerName":"c","ResourceName":"r/r","DeviceIDs":{")" +
        std::string(key) + R"(":["a"]},"AllocResp":""}],"RegisteredDevices":{}},"Checksum":1})";
    EXPECT_THAT(whyNot(text), HasSubstr("no NUMA node")) << key;
  }
}

TEST(CheckpointReader, MoreThanAMegabyteIsNotRead) {
  EXPECT_THAT(whyNot(std::string(kLongestCheckpoint + 1, ' ')), HasSubstr("longer than"));
}

TEST(CheckpointReader, I10_DeepNestingIsNoDanger) {
  EXPECT_FALSE(readIt(std::string(500'000, '[') + std::string(500'000, ']')).has_value());
}

}  // namespace
}  // namespace vfiogate
