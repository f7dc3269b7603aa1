// Sets in the configuration: which are taken, and what is wrong with the others.

#include <gmock/gmock.h>

#include "plugind/config/config.h"

namespace vfiogate {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::vector<std::string> refusals(const std::string& text) {
  std::vector<std::string> lines;
  const auto config = parseConfig(text, "f");
  if (config) return lines;
  for (const ConfigRemark& remark : config.error()) lines.push_back(remark.str());
  return lines;
}

std::string entry(const std::string& name, const std::string& sets, const std::string& more = "") {
  return "- {name: vfiogate.dev/" + name + more + ", sets: [" + sets + "]}\n";
}

constexpr const char* kOne = R"({name: one, devices: ["0000:01:00.0", "0000:02:00.0"]})";
constexpr const char* kTwo = R"({name: two, devices: ["0000:03:00.0", "0000:04:00.0"]})";

TEST(SetsReview, TakesNamedListsOfDevicesAndPrintsThem) {
  const std::string text = "resources:\n" + entry("pair", std::string(kOne) + ", " + kTwo);
  const auto config = parseConfig(text, "f");
  ASSERT_TRUE(config) << config.error().front().str();
  const ResourceSettings& pair = config->settings.resources.front();
  ASSERT_EQ(pair.sets.size(), 2u);
  EXPECT_EQ(pair.sets[1].name, "two");
  EXPECT_EQ(pair.sets[1].units.size(), 2u);
  const auto again = parseConfig(printEffective(*config), "f");
  ASSERT_TRUE(again) << again.error().front().str();
  EXPECT_EQ(again->settings, config->settings);
  EXPECT_THAT(again->warnings, IsEmpty());
}

TEST(SetsReview, RefusesWhatIsNoDeviceAndNoName) {
  EXPECT_THAT(
      refusals("resources:\n" + entry("pair", R"({name: One, devices: ["01:00.0"]})")),
      ElementsAre(HasSubstr("sets[0].name: found \"One\"; write 1 to 40 of a-z 0-9 -"),
                  HasSubstr("sets[0].devices[0]: found \"01:00.0\"; write a whole address")));
  EXPECT_THAT(refusals("resources:\n" + entry("pair", "{name: one}")),
              ElementsAre(HasSubstr("a set needs a device")));
  EXPECT_THAT(refusals("resources:\n" +
                       entry("pair", R"({name: one, devices: ["0000:01:00.0", "0000:01:00.0"]})")),
              ElementsAre(HasSubstr("0000:01:00.0 is named twice in this set")));
}

TEST(SetsReview, RefusesASelectorBesideThemAndAResourceWithoutName) {
  EXPECT_THAT(refusals("resources:\n" + entry("pair", kOne, ", select: {vendor: \"10de\"}")),
              ElementsAre(HasSubstr("select: stands beside sets")));
  EXPECT_THAT(refusals("resources:\n- {sets: [" + std::string(kOne) + "]}\n"),
              ElementsAre(HasSubstr("a resource of sets needs a name")));
}

TEST(SetsReview, RefusesSetsThatOverlapWithoutARule) {
  const std::string middle = R"({name: mid, devices: ["0000:02:00.0", "0000:03:00.0"]})";
  EXPECT_THAT(refusals("resources:\n" + entry("pair", std::string(kOne) + ", " + middle)),
              ElementsAre(HasSubstr("0000:02:00.0 is in one (resources[0].sets[0]), too: if only "
                                    "one of them is to be allocated at a time, write overlap: "
                                    "exclude in resources[0]")));
  EXPECT_THAT(refusals("resources:\n" +
                       entry("pair", std::string(kOne) + ", " + middle, ", overlap: exclude")),
              IsEmpty());
  EXPECT_THAT(
      refusals("resources:\n" + entry("pair", kOne, ", overlap: exclude") + entry("other", middle)),
      ElementsAre(HasSubstr("overlap: exclude in resources[1]")));
}

TEST(SetsReview, RefusesALargerSetBesideASmallerInOneResource) {
  const std::string all =
      R"({name: all, devices: ["0000:01:00.0", "0000:02:00.0", "0000:03:00.0"]})";
  EXPECT_THAT(refusals("resources:\n" +
                       entry("pair", std::string(kOne) + ", " + all, ", overlap: exclude")),
              ElementsAre(HasSubstr("one of all and one has all devices of the other")));
}

TEST(SetsReview, RefusesOneNameForTwo) {
  const std::string same = R"({name: one, devices: ["0000:03:00.0"]})";
  EXPECT_THAT(refusals("resources:\n" + entry("pair", kOne) + entry("other", same)),
              ElementsAre(HasSubstr("one is already the name of resources[0].sets[0]")));
}

TEST(SetsReview, RefusesKeysThatAreNotForSets) {
  EXPECT_THAT(refusals("resources:\n" + entry("pair", kOne, ", groupUnit: whole")),
              ElementsAre(HasSubstr("groupUnit: a set is one device")));
  EXPECT_THAT(refusals("resources:\n" + entry("pair", kOne, ", companions: attach")),
              ElementsAre(HasSubstr("companions: sets name their devices")));
  EXPECT_THAT(refusals("resources:\n" + entry("pair", kOne, ", kata: true, env: [none]")),
              ElementsAre(HasSubstr("kata: Kata looks devices up by their own names")));
  EXPECT_THAT(refusals("resources:\n" + entry("pair", kOne, ", alignWith: nic")),
              ElementsAre(HasSubstr("alignWith: sets name their devices")));
}

TEST(SetsReview, RefusesMoreDevicesThanClaimsCanCount) {
  std::string wide = "{name: wide, devices: [";
  for (int slot = 0; slot < 65; ++slot) {
    const std::string bus = slot < 32 ? "01" : slot < 64 ? "02" : "03";
    const std::string hex = std::string(slot % 32 < 16 ? "0" : "1") + "0123456789abcdef"[slot % 16];
    wide += std::string(slot == 0 ? "" : ", ") + "\"0000:" + bus + ":" + hex + ".0\"";
  }
  EXPECT_THAT(refusals("resources:\n" + entry("pair", wide + "]}")),
              ElementsAre(HasSubstr("the sets have 65 devices together; at most 64")));
}

}  // namespace
}  // namespace vfiogate
