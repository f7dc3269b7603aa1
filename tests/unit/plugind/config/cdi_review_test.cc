// What --check-config says of resources that need a CDI spec.

#include "plugind/config/settings_review.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/plugind/config/bad_config.h"

namespace vfiogate {
namespace {

using test::refusals;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::string entry(const std::string& keys) {
  return "resources:\n- " + keys + "\n";
}

/// Refused at `path`, for the name `name`.
auto refuses(const std::string& path, const std::string& name) {
  return ElementsAre(testing::AllOf(HasSubstr(path), HasSubstr(name), HasSubstr("no CDI kind")));
}

TEST(CdiReview, TakesNamesThatAreKinds) {
  for (const char* keys :
       {"{name: vfiogate.dev/gpu, select: {vendor: \"10de\"}, inject: cdi}",
        "{name: vfiogate.dev/gpu, select: {vendor: \"10de\"}, kata: true}",
        "{name: vfiogate.dev/gpu, select: {vendor: \"10de\"}, inject: cdi, kata: true}",
        "{select: {vendor: \"abcd\"}, inject: cdi}",
        "{name: vfiogate.dev/10de_1bb3, select: {vendor: \"10de\"}, inject: nodes}"}) {
    EXPECT_THAT(refusals(entry(keys)), IsEmpty()) << keys;
  }
  EXPECT_THAT(refusals("naming: pci_vendor_device\n" +
                       entry("{select: {vendor: \"10de\"}, inject: cdi, kata: true}")),
              IsEmpty());
}

TEST(CdiReview, RefusesAWrittenNameWithWhatWouldDo) {
  struct Row {
    const char* name;
    const char* use;
  };
  for (const Row& row :
       {Row{"vfiogate.dev/10de_1bb3", "inject: cdi"}, Row{"vfiogate.dev/10de_1bb3", "kata: true"},
        Row{"vfiogate.dev/gpu.large", "kata: true"}, Row{"3com.example/nic", "inject: cdi"}}) {
    const auto found = refusals(entry("{name: " + std::string(row.name) +
                                      ", select: {vendor: \"10de\"}, " + row.use + "}"));
    EXPECT_THAT(found, refuses("resources[0].name", row.name));
    EXPECT_THAT(found, ElementsAre(HasSubstr("such as "))) << row.name;
  }
}

TEST(CdiReview, RefusesNamesThatTheIdsMake) {
  EXPECT_THAT(refusals(entry("{select: {vendor: \"10de\", device: \"1bb3\"}, inject: cdi}")),
              refuses("resources[0].inject", "vfiogate.dev/10de_1bb3"));
  EXPECT_THAT(refusals(entry("{select: {vendor: \"10de\"}, kata: true}")),
              refuses("resources[0].kata", "vfiogate.dev/10de_"));
  EXPECT_THAT(refusals(entry("{select: {vendor: [\"abcd\", \"10de\"]}, kata: true}")),
              refuses("resources[0].kata", "vfiogate.dev/10de_"));
  EXPECT_THAT(refusals("resourcePrefix: 3com.example\nnaming: pci_vendor_device\n" +
                       entry("{select: {vendor: \"10de\"}, kata: true}")),
              refuses("resources[0].kata", "3com.example/pci_10de_"));
  EXPECT_THAT(refusals(entry("{select: {vendor: \"10de\"}, inject: cdi}")),
              ElementsAre(HasSubstr("naming: pci_vendor_device")));
}

TEST(CdiReview, RefusesTwoWaysToOneDeviceOfKatas) {
  const std::string name = "{name: vfiogate.dev/gpu, select: {vendor: \"10de\"}, kata: true";
  EXPECT_THAT(refusals(entry(name + ", backend: both}")),
              ElementsAre(AllOf(HasSubstr("resources[0].backend: both"),
                                HasSubstr("auto, legacy or iommufd"))));
  for (const char* one : {"legacy", "iommufd", "auto, prefer: iommufd"}) {
    EXPECT_THAT(refusals(entry(name + ", backend: " + one + "}")), IsEmpty()) << one;
  }
}

TEST(CdiReview, KnowsAliases) {
  const std::string selected = entry("{select: {vendor: \"10de\", device: \"1bb3\"}, inject: cdi}");
  EXPECT_THAT(refusals("aliases: {\"10de:1bb3\": nvidia.com/P4}\n" + selected), IsEmpty());
  EXPECT_THAT(refusals("aliases: {\"10de:1bb3\": nvidia.com/P.4}\n" + selected),
              refuses("resources[0].inject", "nvidia.com/P.4"));
  EXPECT_THAT(refusals("naming: pci_vendor_device\naliases: {\"10de:1bb3\": nvidia.com/4P}\n" +
                       entry("{select: {class: \"03\"}, inject: cdi}")),
              refuses("resources[0].inject", "nvidia.com/4P"));
  EXPECT_THAT(refusals("naming: pci_vendor_device\naliases: {\"8086:1bb3\": nvidia.com/4P}\n" +
                       entry("{select: {vendor: \"10de\"}, inject: cdi}")),
              IsEmpty())
      << "of another vendor";
}

TEST(CdiReview, WarnsWhereTheIdsAreNotKnownYet) {
  const auto config = parseConfig(entry("{select: {class: \"03\"}, inject: cdi}"), "p.yaml");
  ASSERT_TRUE(config);
  ASSERT_EQ(config->hints.size(), 1U);
  EXPECT_THAT(config->hints[0].str(), HasSubstr("--plugind-rights")) << "the node knows";
  ASSERT_EQ(config->warnings.size(), 1U);
  EXPECT_THAT(config->warnings[0].str(),
              testing::AllOf(HasSubstr("resources[0].inject"), HasSubstr("begin with a digit")));
}

TEST(CdiReview, WarnsOfNamesThatPciIdsMakes) {
  const auto config = parseConfig(
      "naming: pci-ids\naliases: {\"10de:1bb3\": nvidia.com/P4}\n" +
          entry("{select: {vendor: \"10de\", device: [\"1bb3\", \"2684\"]}, kata: true}"),
      "p.yaml");
  ASSERT_TRUE(config);
  ASSERT_EQ(config->warnings.size(), 1U);
  EXPECT_THAT(config->warnings[0].str(), testing::AllOf(HasSubstr("resources[0].kata"),
                                                        HasSubstr("naming: pci_vendor_device")));
  EXPECT_THAT(refusals("naming: pci-ids\naliases: {\"10de:1bb3\": nvidia.com/4P}\n" +
                       entry("{select: {vendor: \"10de\"}, kata: true}")),
              refuses("resources[0].kata", "nvidia.com/4P"));
}

TEST(CdiReview, TheSettingsHaveWhatWasAskedFor) {
  const auto config = parseConfig(
      "resources:\n"
      "- {name: vfiogate.dev/gpu, select: {vendor: \"10de\"}, inject: cdi}\n"
      "- {name: vfiogate.dev/nic, select: {vendor: \"8086\"}, kata: true}\n",
      "p.yaml");
  ASSERT_TRUE(config);
  const auto& entries = config->settings.resources;
  EXPECT_TRUE(entries[0].allocation.injectCdi && !entries[0].allocation.kata);
  EXPECT_TRUE(!entries[1].allocation.injectCdi && entries[1].allocation.kata);
  EXPECT_THAT(config->effective, testing::AllOf(HasSubstr("inject: cdi"), HasSubstr("kata: true")));
}

}  // namespace
}  // namespace vfiogate
