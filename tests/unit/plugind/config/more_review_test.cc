// `more` in the configuration: what is taken, and what is wrong with the others.

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

constexpr const char* kPair = R"(devices: ["0000:01:00.0", "0000:02:00.0"])";
constexpr const char* kOther = R"(devices: ["0000:03:00.0", "0000:04:00.0"])";
constexpr const char* kTrio = R"(devices: ["0000:05:00.0", "0000:06:00.0", "0000:07:00.0"])";

std::string pairs(const std::string& more) {
  return std::string("resources:\n- {name: a.b/pair, sets: [{name: one, ") + kPair +
         "}, {name: two, " + kOther + "}], " + more + "}\n";
}

std::string cards(const std::string& more) {
  return "resources:\n- {name: a.b/card, select: {vendor: \"10de\"}, " + more + "}\n";
}

TEST(MoreReview, TakesSetsOfOneSizeAndWholeGroupsAndPrintsThem) {
  for (const std::string& text :
       {pairs("more: {name: a.b/pair_more}"), pairs("more: {name: a.b/pair_more, count: 1}"),
        cards("groupUnit: whole, more: {name: a.b/pair_more, count: 1}")}) {
    const auto config = parseConfig(text, "f");
    ASSERT_TRUE(config) << config.error().front().str();
    EXPECT_EQ(config->settings.resources.front().allocation.more,
              (MoreDevices{*ResourceName::parse("a.b/pair_more"), 1}));
    const auto again = parseConfig(printEffective(*config), "f");
    ASSERT_TRUE(again) << again.error().front().str();
    EXPECT_EQ(again->settings, config->settings);
    EXPECT_THAT(again->warnings, IsEmpty());
  }
}

TEST(MoreReview, RefusesSetsOfAnotherSize) {
  const std::string sets = std::string("resources:\n- {name: a.b/pair, sets: [{name: one, ") +
                           kPair + "}, {name: two, " + kTrio + "}], more: {name: a.b/m}}\n";
  EXPECT_THAT(refusals(sets),
              ElementsAre(HasSubstr(
                  "resources[0].sets[1].devices: has 3 devices, and with more every set of this "
                  "resource has 2, since a VM has an entry for each: give sets of another size a "
                  "resource of their own")));
  EXPECT_THAT(refusals(pairs("more: {name: a.b/m, count: 2}")),
              ElementsAre(HasSubstr("sets[0].devices: has 2 devices"),
                          HasSubstr("sets[1].devices: has 2 devices")));
}

TEST(MoreReview, RefusesWhatCountsNothing) {
  EXPECT_THAT(refusals(cards("groupUnit: whole, more: {name: a.b/m}")),
              ElementsAre(HasSubstr("resources[0].more.count: of one device of the resource at "
                                    "least 1 and less than 64")));
  EXPECT_THAT(refusals(cards("groupUnit: whole, more: {name: a.b/m, count: 64}")),
              ElementsAre(HasSubstr("more.count")));
  EXPECT_THAT(refusals(cards("groupUnit: whole, more: {count: 1}")),
              ElementsAre(HasSubstr("resources[0].more.name: found \"\"")));
  EXPECT_THAT(refusals("resources:\n- {name: a.b/one, sets: [{name: x, devices: "
                       "[\"0000:01:00.0\"]}], more: {name: a.b/m}}\n"),
              ElementsAre(HasSubstr("more.count")));
}

TEST(MoreReview, RefusesAResourceWhoseDevicesAreSingle) {
  EXPECT_THAT(refusals(cards("more: {name: a.b/m, count: 1}")),
              ElementsAre(HasSubstr("resources[0].more: is for sets and for groupUnit: whole")));
  EXPECT_THAT(refusals("resources:\n- {select: {vendor: \"10de\"}, groupUnit: whole, more: {name: "
                       "a.b/m, count: 1}}\n"),
              ElementsAre(HasSubstr("resources[0].name: a resource with more needs a name")));
}

TEST(MoreReview, RefusesWaysInWhichKubevirtReadsNoVariable) {
  for (const char* way : {"env: none", "inject: cdi", "serve: dra", "serve: both"}) {
    EXPECT_THAT(
        refusals("dra: {driver: vfio.a.b}\n" + pairs(std::string("more: {name: a.b/m}, ") + way)),
        ElementsAre(HasSubstr("resources[0].more: tells KubeVirt of each device in a variable: it "
                              "needs serve: plugin, inject: nodes, kata: false and kubevirt in "
                              "env")))
        << way;
  }
  EXPECT_THAT(refusals("resources:\n- {name: a.b/pair, sets: [{name: one, devices: "
                       "[\"0000:01:00.0\", 3f5e2c10-0001-4a5b-8c6d-000000000001]}], more: {name: "
                       "a.b/m}}\n"),
              ElementsAre(HasSubstr("sets[0].devices: has addresses and UUIDs")));
}

TEST(MoreReview, RefusesANameOrAVariableThatAnotherHas) {
  const std::string second = "- {name: a.b/more_x, select: {vendor: \"8086\"}}\n";
  EXPECT_THAT(refusals(pairs("more: {name: a.b/pair}")),
              ElementsAre(HasSubstr("resources[0].more.name: a.b/pair is, or has the variable of, "
                                    "the name of resources[0]")));
  EXPECT_THAT(refusals(pairs("more: {name: a.b/more.x}") + second),
              ElementsAre(HasSubstr("a.b/more.x is, or has the variable of, the name of "
                                    "resources[1]")));
  EXPECT_THAT(refusals(pairs("more: {name: a.b/m}") + "- {name: a.b/trio, sets: [{name: three, " +
                       kTrio + "}], more: {name: a.b/m}}\n"),
              ElementsAre(HasSubstr("a.b/m is, or has the variable of, resources[0].more.name")));
  EXPECT_THAT(refusals("aliases: {\"10de:2684\": a.b/m}\n" + pairs("more: {name: a.b/m}") +
                       "- select: {vendor: \"10de\"}\n"),
              ElementsAre(HasSubstr("a.b/m is, or has the variable of, the name of an alias")));
}

}  // namespace
}  // namespace vfiogate
