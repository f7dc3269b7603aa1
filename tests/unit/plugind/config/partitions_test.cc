// Fabric Manager's partition table as sets of the configuration.

#include "plugind/cli/partitions.h"

#include <gmock/gmock.h>

#include "plugind/config/config.h"

namespace vfiogate {
namespace {

using testing::HasSubstr;

std::string gpu(int module, const std::string& busId) {
  return R"({"physicalId": )" + std::to_string(module) + R"(, "uuid": "", "pciBusId": ")" + busId +
         R"(", "numNvLinksAvailable": 18, "maxNumNvLinks": 18, "nvlinkLineRateMBps": 26562})";
}

std::string partition(int id, const std::vector<std::string>& gpus) {
  std::string all;
  for (const std::string& one : gpus) all += (all.empty() ? "" : ", ") + one;
  return R"({"partitionId": )" + std::to_string(id) + R"(, "isActive": 0, "numGpus": )" +
         std::to_string(gpus.size()) + R"(, "gpuInfo": [)" + all + "]}";
}

std::string table(const std::vector<std::string>& partitions) {
  std::string all;
  for (const std::string& one : partitions) all += (all.empty() ? "" : ", ") + one;
  return R"({"version": 16909068, "numPartitions": 1, "maxNumPartitions": 15, "partitionInfo": [)" +
         all + "]}";
}

PartitionOptions options(std::map<std::uint32_t, Bdf> modules = {}) {
  return {.modules = std::move(modules), .resource = *ResourceName::parse("vfiogate.dev/h100")};
}

const std::string kFirst = gpu(1, "00000000:3B:00.0");
const std::string kSecond = gpu(2, "00000000:5D:00.0");
const std::string kUnseen = gpu(3, "00000000:00:00.0");

TEST(Partitions, BecomeSetsThatTheConfigurationTakes) {
  const auto text = setsOfPartitions(
      table({partition(0, {kFirst, kSecond}), partition(7, {kFirst}), partition(8, {kSecond})}),
      options());
  ASSERT_TRUE(text) << text.error();
  EXPECT_THAT(*text, HasSubstr("- name: vfiogate.dev/h100_2\n  overlap: exclude\n  sets:\n"
                               "  - name: partition-0\n"
                               "    devices: [\"0000:3b:00.0\", \"0000:5d:00.0\"]\n"
                               "- name: vfiogate.dev/h100_1\n"));
  const auto config = parseConfig(*text, "f");
  ASSERT_TRUE(config) << config.error().front().str();
  ASSERT_EQ(config->settings.resources.size(), 2u);
  EXPECT_EQ(config->settings.resources[1].sets.size(), 2u);
}

TEST(Partitions, OfNothingSharedNeedNoRule) {
  const auto text =
      setsOfPartitions(table({partition(7, {kFirst}), partition(8, {kSecond})}), options());
  ASSERT_TRUE(text) << text.error();
  EXPECT_THAT(*text, testing::Not(HasSubstr("overlap")));
  EXPECT_TRUE(parseConfig(*text, "f"));
}

TEST(Partitions, AnAddressThatIsSaidWinsOverTheTables) {
  const auto text = setsOfPartitions(
      table({partition(4, {kFirst, kUnseen})}),
      options({{1, *Bdf::parse("0000:aa:00.0")}, {3, *Bdf::parse("0000:bb:00.0")}}));
  ASSERT_TRUE(text) << text.error();
  EXPECT_THAT(*text, HasSubstr(R"(["0000:aa:00.0", "0000:bb:00.0"])"));
}

TEST(Partitions, WhatCannotBeUsedIsSaidWithWhatWouldMendIt) {
  const auto refused = [](const std::string& text) {
    const auto made = setsOfPartitions(text, options());
    return made ? "taken" : made.error();
  };
  EXPECT_THAT(refused("Partition ID   Number of GPUs"),
              HasSubstr("the JSON that `fmpm -l` prints"));
  EXPECT_THAT(refused(table({})), HasSubstr("FABRIC_MODE=1"));
  EXPECT_THAT(refused(table({partition(4, {kFirst, kUnseen})})),
              HasSubstr("partition 4: the table has no address of the GPU with physicalId 3"));
  EXPECT_THAT(refused(table({partition(4, {kUnseen})})), HasSubstr("--module 3=ADDRESS"));
  EXPECT_THAT(refused(table({partition(4, {kFirst, gpu(9, "00000000:3b:00.0")})})),
              HasSubstr("two of its GPUs have the address 0000:3b:00.0"));
  EXPECT_THAT(refused(table({partition(4, {kFirst}), partition(4, {kSecond})})),
              HasSubstr("partition 4 is in the table twice"));
  EXPECT_THAT(refused(table({R"({"partitionId": 4, "numGpus": 2, "gpuInfo": []})"})),
              HasSubstr("gpuInfo does not have the GPUs"));
  EXPECT_THAT(refused(table({R"({"numGpus": 0})"})), HasSubstr("no partitionId"));
  EXPECT_THAT(refused(table({R"({"partitionId": 4, "numGpus": 1, "gpuInfo": [{}]})"})),
              HasSubstr("a GPU has no physicalId"));
}

TEST(Partitions, AModuleIsANumberAndAnAddress) {
  EXPECT_EQ(moduleIn("7=0000:17:00.0"), std::pair(7U, *Bdf::parse("0000:17:00.0")));
  for (const char* text :
       {"", "7", "=0000:17:00.0", "7=17:00.0", "x=0000:17:00.0", "7x=0000:17:00.0"}) {
    EXPECT_FALSE(moduleIn(text)) << text;
  }
}

}  // namespace
}  // namespace vfiogate
