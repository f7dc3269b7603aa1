#include "plugind/core/resource/model_names.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/hardware.h"

namespace vfiogate {
namespace {

using test::Hardware;
using testing::IsEmpty;
using testing::Pair;
using testing::UnorderedElementsAre;

ModelNames named(ProductNames products) {
  return ModelNames(std::make_shared<const ProductNames>(std::move(products)));
}

ResourceName resource(std::string_view text) {
  return *ResourceName::parse(text);
}

// Entries of pci.ids, with the names that NVIDIA's kubevirt-gpu-device-plugin d26f2374 was seen to
// make of them.
TEST(ModelNames, NormalizesProductsAsNvidiasPluginDoes) {
  struct Row {
    const char* product;
    const char* want;
  };
  const Row rows[] = {
      {"AD102 [GeForce RTX 4090]", "AD102_GEFORCE_RTX_4090"},
      {"TU104GL [Tesla T4]", "TU104GL_TESLA_T4"},
      {"GH100 [H100 PCIe]", "GH100_H100_PCIE"},
      {"GA100 [A100 SXM4 40GB]", "GA100_A100_SXM4_40GB"},
      {"GM204GL [Tesla M60]", "GM204GL_TESLA_M60"},
      {"NV1 [STG2000X-B Series]", "NV1_STG2000XB_SERIES"},
      {"NV3 [Riva 128]", "NV3_RIVA_128"},
      {"AD102 High Definition Audio Controller", "AD102_HIGH_DEFINITION_AUDIO_CONTROLLER"},
      {"TU104 USB 3.1 Host Controller", "TU104_USB_3_1_HOST_CONTROLLER"},
      {"GA104 [RTX A4500 Embedded GPU ]", "GA104_RTX_A4500_EMBEDDED_GPU_"},
      {"NF200 PCIe 2.0 switch for Quadro Plex S4 / Tesla S870 / Tesla S1070 / Tesla S2050",
       "NF200_PCIE_2_0_SWITCH_FOR_QUADRO_PLEX_S4___TESLA_S870___TESLA_S1070___TESLA_S2050"},
      {"a  \t b", "A_B"},
      {"a - b", "A__B"},
      {"  \t ", ""},
      {"\xc3\xa9[]()", ""},
      {"", ""},
  };
  for (const Row& row : rows) EXPECT_EQ(normalizedProduct(row.product), row.want) << row.product;
}

TEST(ModelNames, NamesThatAKubeletTakesAndThatMeanOneVendor) {
  const ModelNames names = named({
      {{0x10de, 0x2684}, "AD102 [GeForce RTX 4090]"},
      {{0x10de, 0x24fa}, "GA104 [RTX A4500 Embedded GPU ]"},
      {{0x10de, 0x05be},
       "NF200 PCIe 2.0 switch for Quadro Plex S4 / Tesla S870 / Tesla S1070 / Tesla S2050"},
      {{0x10de, 0x0001}, "()"},
      {{0x8086, 0x1572}, "Ethernet Controller X710 for 10GbE SFP+"},
      {{0x1000, 0x0407}, "MegaRAID"},
      {{0x101e, 0x1960}, "MegaRAID"},
      {{0x1000, 0x0408}, "MegaRAID"},
      {{0x10df, 0x0001}, "AD102 GeForce RTX 4090"},
      {{0x8086, 0x7193}, "7193"},
      {{0x1002, 0x0001}, "8086 1533"},
  });
  struct Row {
    Model model;
    const char* want;
  };
  const Row rows[] = {
      {{0x10de, 0x2684}, "AD102_GEFORCE_RTX_4090"},
      {{0x10de, 0x24fa}, "GA104_RTX_A4500_EMBEDDED_GPU"},
      {{0x10de, 0x05be}, "NF200_PCIE_2_0_SWITCH_FOR_QUADRO_PLEX_S4___TESLA_S870_10de_05be"},
      {{0x10de, 0x0001}, "0001"},
      {{0x10de, 0x2fff}, "2fff"},
      {{0x8086, 0x1572}, "ETHERNET_CONTROLLER_X710_FOR_10GBE_SFP"},
      {{0x8086, 0x1533}, "8086_1533"},
      {{0x1000, 0x0407}, "MEGARAID_1000_0407"},
      {{0x1000, 0x0408}, "MEGARAID_1000_0408"},
      {{0x101e, 0x1960}, "MEGARAID_101e_1960"},
      {{0x10df, 0x0001}, "AD102_GEFORCE_RTX_4090_10df_0001"},
      {{0x8086, 0x7193}, "7193_8086_7193"},
      {{0x1002, 0x0001}, "8086_1533_1002_0001"},
  };
  for (const Row& row : rows) {
    const std::string name = names.nameOf(Naming::kPciIds, row.model);
    EXPECT_EQ(name, row.want);
    EXPECT_TRUE(ResourceName::parse("vfiogate.dev/" + name)) << name;
  }
  EXPECT_EQ(names.nameOf(Naming::kVendorDevice, {0x10de, 0x2684}), "10de_2684");
  EXPECT_EQ(ModelNames().nameOf(Naming::kPciIds, {0x10de, 0x2684}), "2684");
}

/// The node of the tests below: two models of NVIDIA's, one of Intel's, under nvidia.com.
class KeptNamesTest : public testing::Test {
protected:
  KeptNamesTest() {
    hardware_.add("0000:01:00.0", 1);
    hardware_.add("0000:02:00.0", 2).device = std::uint16_t{0x2235};
    hardware_.add("0000:03:00.0", 3).vendor = std::uint16_t{0x8086};
    settings_.resourcePrefix = "nvidia.com";
    settings_.naming = Naming::kPciIds;
    settings_.resources.resize(1);
  }

  KeptNames kept() { return keptNames(settings_, hardware_.snapshot(), memory_, names_); }

  Hardware hardware_;
  Settings settings_;
  CheckpointVersion memory_;
  ModelNames names_ =
      named({{{0x10de, 0x2684}, "AD102 [GeForce RTX 4090]"}, {{0x10de, 0x2235}, "GA102GL [A40]"}});
};

TEST_F(KeptNamesTest, AModelKeepsTheNameThatTheKubeletKnows) {
  memory_.registered = {{"nvidia.com/AD102_OLD", {"0000:01:00.0"}}, {"nvidia.com/2235", {}}};
  memory_.entries = {{.podUid = "u",
                      .container = "c",
                      .resource = "nvidia.com/2235",
                      .ids = {"0000:02:00.0"},
                      .allocated = {},
                      .ref = {}}};
  names_.keep(kept());
  EXPECT_THAT(names_.kept(),
              UnorderedElementsAre(Pair(Model{0x10de, 0x2684}, resource("nvidia.com/AD102_OLD")),
                                   Pair(Model{0x10de, 0x2235}, resource("nvidia.com/2235"))));
  EXPECT_EQ(nameOfModel(settings_, {0x10de, 0x2684}, names_), resource("nvidia.com/AD102_OLD"));
  EXPECT_EQ(nameOfModel(settings_, {0x8086, 0x2684}, names_), resource("nvidia.com/8086_2684"));
  // An alias is what somebody wants now; another naming rule has nothing to do with pci.ids.
  settings_.aliases.emplace(Model{0x10de, 0x2684}, resource("nvidia.com/NEW"));
  EXPECT_EQ(nameOfModel(settings_, {0x10de, 0x2684}, names_), resource("nvidia.com/NEW"));
  settings_.naming = Naming::kVendorDevice;
  EXPECT_EQ(nameOfModel(settings_, {0x10de, 0x2235}, names_), resource("nvidia.com/10de_2235"));
}

TEST_F(KeptNamesTest, WhatAContainerHasCountsMoreThanWhatIsRegistered) {
  memory_.registered = {{"nvidia.com/A", {"0000:01:00.0"}}};
  memory_.entries = {{.podUid = "u",
                      .container = "c",
                      .resource = "nvidia.com/B",
                      .ids = {"0000:01:00.0"},
                      .allocated = {},
                      .ref = {}}};
  EXPECT_THAT(kept(), UnorderedElementsAre(Pair(Model{0x10de, 0x2684}, resource("nvidia.com/B"))));
}

TEST_F(KeptNamesTest, TheListSaysWhatContainersHave) {
  const PodList list{.devices = {{.podNamespace = "n",
                                  .podName = "p",
                                  .container = "c",
                                  .resource = "nvidia.com/B",
                                  .ids = {"0000:01:00.0"}}},
                     .pods = {"n/p", "n/other"}};
  EXPECT_THAT(keptNames(settings_, hardware_.snapshot(), list, names_),
              UnorderedElementsAre(Pair(Model{0x10de, 0x2684}, resource("nvidia.com/B"))));
}

TEST_F(KeptNamesTest, OfSeveralNamesTheOneThatPciIdsHasStays) {
  memory_.registered = {{"nvidia.com/A", {"0000:01:00.0"}},
                        {"nvidia.com/AD102_GEFORCE_RTX_4090", {"0000:01:00.0"}}};
  EXPECT_THAT(kept(), UnorderedElementsAre(Pair(Model{0x10de, 0x2684},
                                                resource("nvidia.com/AD102_GEFORCE_RTX_4090"))));
}

TEST_F(KeptNamesTest, WhatPciIdsDidNotMakeIsNotKept) {
  settings_.resources[0].name = resource("nvidia.com/GPU");
  settings_.aliases.emplace(Model{0x10de, 0x2235}, resource("nvidia.com/ALIAS"));
  memory_.registered = {
      {"nvidia.com/GPU", {"0000:01:00.0"}},        // an entry's name
      {"nvidia.com/ALIAS", {"0000:01:00.0"}},      // a model's
      {"nvidia.com/gpu", {"0000:01:00.0"}},        // somebody's, by hand
      {"nvidia.com/10de_2684", {"0000:01:00.0"}},  // another rule's
      {"nvidia.com/pci_10de_2684", {"0000:01:00.0"}},
      {"nvidia.com/8086_2684", {"0000:03:00.0"}},
      {"nvidia.com/2684", {"0000:03:00.0"}},  // bare ids are NVIDIA's
      {"other.com/AD102", {"0000:01:00.0"}},  // another plugin's
      {"cpu", {"0000:01:00.0"}},
      {"nvidia.com/GONE", {"0000:09:00.0", "gpu-0", "01:00.0"}},
  };
  EXPECT_THAT(kept(), IsEmpty());
}

}  // namespace
}  // namespace vfiogate
