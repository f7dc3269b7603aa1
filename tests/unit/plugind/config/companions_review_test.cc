// What --check-config says of `companions: attach`.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/plugind/config/bad_config.h"

namespace vfiogate {
namespace {

using test::refusals;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

const std::string kGpuEntry = "resources:\n- {name: a.b/gpu, select: {class: \"03\"}}\n";

TEST(CompanionsReview, TakesWhatNvidiasPluginOffers) {
  EXPECT_THAT(refusals("resources:\n- {select: {vendor: \"10de\"}, companions: attach}\n"),
              IsEmpty());
  EXPECT_THAT(
      refusals(kGpuEntry + "- {name: a.b/audio, select: {class: \"0403\"}, companions: attach}\n"),
      IsEmpty());
  for (const char* select : {"\"10de:22ba\"", "{product: \"*High Definition Audio*\"}"}) {
    EXPECT_THAT(
        refusals(kGpuEntry + "- {name: a.b/audio, select: " + select + ", companions: attach}\n"),
        IsEmpty());
  }
}

TEST(CompanionsReview, RefusesWhatMakesNoSense) {
  const struct {
    std::string yaml;
    std::string want;
  } rows[] = {
      {"- {select: {class: \"0403\"}, companions: attach, serve: dra}\n",
       "resources[1].companions: attach is for the device plugin alone: set serve: plugin"},
      {"- {select: {class: \"0403\"}, companions: attach, env: none}\n",
       "resources[1].companions: attach sets KubeVirt's variables in the card's answer: it needs "
       "serve: plugin, inject: nodes, kata: false and kubevirt in env"},
      {"- {name: a.b/audio, select: {class: \"0403\"}, companions: attach, inject: cdi}\n",
       "resources[1].companions: attach sets"},
      {"- {name: a.b/all, select: {vendor: \"10de\"}, companions: attach}\n",
       "resources[1].name: cards and their companions would be one resource: leave the name out, "
       "or give the companions an entry of their own, such as {class: \"0403\"}"},
  };
  for (const auto& row : rows) {
    const std::string dra =
        row.yaml.find("serve: dra") == std::string::npos ? "" : "dra: {driver: vfio.example.org}\n";
    EXPECT_THAT(refusals(kGpuEntry + row.yaml + dra), ElementsAre(HasSubstr(row.want)));
  }
}

TEST(CompanionsReview, WarnsWhereItHasNoEffectOrNamesTwoCardsAlike) {
  const auto warned = [](const std::string& yaml) {
    const auto config = parseConfig(yaml, "p.yaml");
    std::vector<std::string> lines;
    if (!config) return std::vector<std::string>{"refused"};
    for (const ConfigRemark& warning : config->warnings) lines.push_back(warning.str());
    return lines;
  };
  const std::string audio = "- {name: a.b/audio, select: {class: \"0403\"}, companions: attach}\n";
  EXPECT_THAT(warned("resources:\n- {name: a.b/gpu, select: {class: \"03\"}, env: none}\n" + audio),
              ElementsAre(HasSubstr("attach has no effect for the cards of resources[0]")));
  EXPECT_THAT(warned("resources:\n- {name: a.b/one, select: {class: \"0300\"}}\n"
                     "- {name: a.b/two, select: {class: \"0302\"}}\n" +
                     audio),
              ElementsAre(HasSubstr("the companions of several resources share one variable")));
  EXPECT_THAT(warned(kGpuEntry + audio), IsEmpty());
}

}  // namespace
}  // namespace vfiogate
