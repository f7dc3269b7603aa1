#include "plugind/core/resource/resource_catalog.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/hardware.h"
#include "tests/unit/plugind/resource/resource_cases.h"

namespace vfiogate {
namespace {

using test::at;
using test::entry;
using test::Hardware;
using test::offering;
using test::placeOf;
using testing::ElementsAre;

TEST(ResourceCatalog, NamesAResourceForEachModel) {
  Hardware hardware;
  hardware.add("0000:01:00.0", 1);
  hardware.add("0000:02:00.0", 2).device = std::uint16_t{0x00af};
  hardware.add("0000:03:00.0", 3);
  Settings settings = offering({entry("vendor=10de")});
  const auto catalog = sortIntoResources(settings, hardware.snapshot());
  ASSERT_EQ(catalog.resources.size(), 2U);
  EXPECT_THAT(catalog.resources.at(*ResourceName::parse("vfiogate.dev/10de_2684")).devices,
              ElementsAre(at("0000:01:00.0"), at("0000:03:00.0")));
  EXPECT_EQ(placeOf(catalog, "0000:02:00.0"), "vfiogate.dev/10de_00af");

  settings.naming = Naming::kPciVendorDevice;
  settings.resourcePrefix = "example.org";
  EXPECT_EQ(placeOf(sortIntoResources(settings, hardware.snapshot()), "0000:02:00.0"),
            "example.org/pci_10de_00af");
}

TEST(ResourceCatalog, AliasWinsOverNamingAndAnEntrysNameOverBoth) {
  Hardware hardware;
  hardware.add("0000:01:00.0", 1);
  hardware.add("0000:02:00.0", 2).numaNode = 1;
  Settings settings = offering({entry("numa=1", "example.org/second"), entry("vendor=10de")});
  settings.aliases.emplace(Model{0x10de, 0x2684}, *ResourceName::parse("nvidia.com/GPU"));
  const auto catalog = sortIntoResources(settings, hardware.snapshot());
  EXPECT_EQ(placeOf(catalog, "0000:01:00.0"), "nvidia.com/GPU");
  EXPECT_EQ(placeOf(catalog, "0000:02:00.0"), "example.org/second");
}

TEST(ResourceCatalog, MediatedDevicesAreInEntriesOfMdevAlone) {
  constexpr const char* kFirst = "3f5e2c10-0001-4a5b-8c6d-000000000001";
  constexpr const char* kSecond = "3f5e2c10-0001-4a5b-8c6d-000000000002";
  Hardware hardware;
  hardware.add("0000:11:00.0", 1);
  hardware.addMediated(kFirst, "0000:11:00.0", "nvidia-711", 60).typeName = "NVIDIA A16-4Q";
  hardware.addMediated(kSecond, "0000:11:00.0", "nvidia-709", 61);
  const UnitId first = *UnitId::parse(kFirst);
  const UnitId second = *UnitId::parse(kSecond);
  const auto sorted = [&hardware](const Settings& settings) {
    return sortIntoResources(settings, hardware.snapshot());
  };
  const auto unnamed = sorted(offering({entry("vendor=10de"), entry("mdev=nvidia-*")}));
  EXPECT_EQ(placeOf(unnamed, "0000:11:00.0"), "vfiogate.dev/10de_2684");
  EXPECT_EQ(resourceOf(unnamed, first)->str(), "vfiogate.dev/NVIDIA_A16-4Q")
      << "by its type's name";
  EXPECT_EQ(resourceOf(unnamed, second)->str(), "vfiogate.dev/nvidia-709") << "by its type's id";
  EXPECT_EQ(unnamed.chosen.at(first), 1U);

  const auto named = sorted(offering({entry("mdev=nvidia-711", "example.org/vgpu")}));
  EXPECT_EQ(resourceOf(named, first)->str(), "example.org/vgpu");
  EXPECT_EQ(named.leftOut.at(second).reason, "unmatched");

  Settings settings = offering({entry("mdev=*", "example.org/vgpu")});
  settings.exclude = {*Selector::parse("mdev=nvidia-709")};
  EXPECT_EQ(sorted(settings).leftOut.at(second).reason, "excluded");
  settings.exclude = {*Selector::parse("address=0000:11:00.0")};
  EXPECT_EQ(sorted(settings).leftOut.at(first).reason, "excluded") << "with the whole parent";
}

TEST(ResourceCatalog, VgpusAreCalledAfterTheirTypesByAnEntryOfVgpu) {
  Hardware hardware;
  constexpr const char* kFirst = "0000:11:00.4";
  for (const std::uint32_t function : {4U, 5U, 6U}) {
    PciDevice& made = hardware.add("0000:11:00." + std::to_string(function), 100 + function);
    made.driver = "nvidia";
    made.vgpuType = function == 6 ? 0 : 1147;
  }
  hardware.device(kFirst).vgpuTypeName = "NVIDIA L40S-1Q";
  const auto sorted = [&hardware](const Settings& settings) {
    return sortIntoResources(settings, hardware.snapshot());
  };
  Settings settings = offering({entry("vgpu=1147")});
  settings.aliases.emplace(Model{0x10de, 0x2684}, *ResourceName::parse("nvidia.com/GPU"));
  const auto unnamed = sorted(settings);
  EXPECT_EQ(placeOf(unnamed, kFirst), "vfiogate.dev/NVIDIA_L40S-1Q");
  EXPECT_EQ(placeOf(unnamed, "0000:11:00.5"), "vfiogate.dev/nvidia-1147") << "no name is told";
  EXPECT_EQ(placeOf(unnamed, "0000:11:00.6"), "-no-vgpu-type");
  const auto named = sorted(offering({entry("vgpu=NVIDIA*", "example.org/vgpu")}));
  EXPECT_EQ(placeOf(named, kFirst), "example.org/vgpu");
  EXPECT_EQ(placeOf(named, "0000:11:00.5"), "-unmatched");
  const auto byModel = sorted(offering({entry("vendor=10de")}));
  EXPECT_EQ(placeOf(byModel, kFirst), "vfiogate.dev/10de_2684") << "by the naming rule";
}

TEST(ResourceCatalog, ProductsAreThoseThatPciIdsKnows) {
  Hardware hardware;
  hardware.add("0000:01:00.0", 1).device = std::uint16_t{0x2684};
  hardware.add("0000:02:00.0", 2).device = std::uint16_t{0x20b0};
  hardware.add("0000:03:00.0", 3).device = std::uint16_t{0x9999};
  Settings settings = offering({entry("product=*RTX_40*", "vfiogate.dev/gamers")});
  settings.exclude.push_back(*Selector::parse("product=GA100*"));
  EXPECT_TRUE(wantsProducts(settings));
  const ModelNames models(std::make_shared<const ProductNames>(
      ProductNames{{{0x10de, 0x2684}, "AD102 [GeForce RTX 4090]"},
                   {{0x10de, 0x20b0}, "GA100 [A100 SXM4 40GB]"}}));
  const ResourceCatalog catalog = sortIntoResources(settings, hardware.snapshot(), models);
  EXPECT_EQ(placeOf(catalog, "0000:01:00.0"), "vfiogate.dev/gamers");
  EXPECT_EQ(placeOf(catalog, "0000:02:00.0"), "-excluded");
  EXPECT_EQ(placeOf(catalog, "0000:03:00.0"), "-unmatched");
  EXPECT_EQ(catalog.leftOut.at(at("0000:03:00.0")).text,
            "no entry of resources selects it; pci.ids has no name for its model, so product "
            "cannot");
  const ResourceCatalog nameless = sortIntoResources(settings, hardware.snapshot());
  EXPECT_EQ(placeOf(nameless, "0000:01:00.0"), "-unmatched");
  EXPECT_EQ(placeOf(nameless, "0000:02:00.0"), "-unmatched");
}

TEST(ResourceCatalog, OfSlotsSaysOfWhichDeviceNoneIsKnown) {
  Hardware hardware;
  hardware.add("0000:01:00.0", 1).slot = "4";
  hardware.add("0000:02:00.0", 2).slot = "5";
  hardware.add("0000:03:00.0", 3);
  const ResourceCatalog catalog =
      sortIntoResources(offering({entry("slot=4", "a.b/four")}), hardware.snapshot());
  EXPECT_EQ(placeOf(catalog, "0000:01:00.0"), "a.b/four");
  EXPECT_EQ(catalog.leftOut.at(at("0000:02:00.0")).text, "no entry of resources selects it");
  EXPECT_EQ(catalog.leftOut.at(at("0000:03:00.0")).text,
            "no entry of resources selects it; the kernel names no slot for it, so slot cannot");
}

TEST(ResourceCatalog, FirstEntryThatMatchesWins) {
  Hardware hardware;
  hardware.add("0000:01:00.0", 1);
  const auto first = entry("class=03", "a.b/first");
  const auto second = entry("vendor=10de", "a.b/second");
  EXPECT_EQ(
      placeOf(sortIntoResources(offering({first, second}), hardware.snapshot()), "0000:01:00.0"),
      "a.b/first");
  EXPECT_EQ(
      placeOf(sortIntoResources(offering({second, first}), hardware.snapshot()), "0000:01:00.0"),
      "a.b/second");
}

TEST(ResourceCatalog, SaysOfEachDeviceThatIsLeftOutWhy) {
  Hardware hardware;
  hardware.add("0000:01:00.0", 1);                               // fine
  hardware.add("0000:01:00.1", 1).classCode = 0x040300;          // its audio function
  hardware.add("0000:01:00.2", 1).classCode = 0x0c0330;          // its USB controller
  hardware.add("0000:01:00.3", 1).classCode = 0x0c8000;          // its serial controller
  hardware.add("0000:02:00.0", 2).headerType = std::uint8_t{1};  // a bridge
  hardware.add("0000:03:00.0", 3).classCode.reset();             // broken
  hardware.device("0000:03:00.0").problems = {{"class", "malformed: 0xzz"}};
  hardware.add("0000:04:00.0", 4).vendor = std::uint16_t{0x8086};  // nobody asked for it
  hardware.add("0000:05:00.0", 5).numaNode = 3;                    // excluded
  hardware.add("10000:01:00.0", 6);                                // behind a VMD
  hardware.add("0000:06:00.0", 7).classCode = 0x0c0330;            // USB, alone in its group
  Settings settings = offering({entry("vendor=10de")});
  settings.exclude = {*Selector::parse("10de:0001"), *Selector::parse("numa=3")};
  const auto catalog = sortIntoResources(settings, hardware.snapshot());

  EXPECT_EQ(placeOf(catalog, "0000:01:00.0"), "vfiogate.dev/10de_2684");
  EXPECT_EQ(placeOf(catalog, "0000:06:00.0"), "vfiogate.dev/10de_2684");
  const std::map<std::string, LeftOut> want{
      {"0000:01:00.1",
       {"companion", "travels with the display controller 0000:01:00.0 of its group"}},
      {"0000:01:00.2",
       {"companion", "travels with the display controller 0000:01:00.0 of its group"}},
      {"0000:01:00.3",
       {"companion", "travels with the display controller 0000:01:00.0 of its group"}},
      {"0000:02:00.0", {"bridge", "a bridge; bridges are never passed through"}},
      {"0000:03:00.0",
       {"unreadable",
        "sysfs does not say what it is: vendor, device or class; class is malformed: 0xzz"}},
      {"0000:04:00.0", {"unmatched", "no entry of resources selects it"}},
      {"0000:05:00.0", {"excluded", "matches exclude[1]"}},
      {"10000:01:00.0", {"segment", "KubeVirt takes no segment above 16 bit: set env: [none]"}},
  };
  EXPECT_EQ(catalog.leftOut.size(), want.size());
  for (const auto& [address, leftOut] : want) {
    ASSERT_TRUE(catalog.leftOut.contains(at(address))) << address;
    EXPECT_EQ(catalog.leftOut.at(at(address)), leftOut)
        << address << ": " << catalog.leftOut.at(at(address)).text;
  }
}

TEST(ResourceCatalog, OffersHighSegmentsWhereKubevirtIsNotMeant) {
  Hardware hardware;
  hardware.add("10000:01:00.0", 6);
  ResourceSettings plain = entry("vendor=10de");
  plain.allocation.kubevirtVariable = false;
  EXPECT_EQ(placeOf(sortIntoResources(offering({plain}), hardware.snapshot()), "10000:01:00.0"),
            "vfiogate.dev/10de_2684");
}

TEST(ResourceCatalog, LeavesOutWhatWouldGiveOneNameTwoSettings) {
  Hardware hardware;
  hardware.add("0000:01:00.0", 1).numaNode = 1;
  hardware.add("0000:02:00.0", 2);
  ResourceSettings other = entry("vendor=10de");
  other.allocation.backend = Backend::kIommufd;
  const auto catalog = sortIntoResources(offering({entry("numa=1"), other}), hardware.snapshot());
  EXPECT_EQ(placeOf(catalog, "0000:01:00.0"), "vfiogate.dev/10de_2684");
  EXPECT_EQ(placeOf(catalog, "0000:02:00.0"), "-two-settings");
}

/// A card with its audio function in group 1, and another such pair in group 2 or beside it.
Hardware cardsWithSound(std::uint32_t second) {
  Hardware hardware;
  hardware.add("0000:01:00.0", 1);
  hardware.add("0000:01:00.1", 1).classCode = 0x040300;
  hardware.add("0000:02:00.0", second);
  hardware.add("0000:02:00.1", second).classCode = 0x040300;
  return hardware;
}

ResourceSettings attaching(std::string_view select, std::string_view name = "") {
  ResourceSettings settings = entry(select, name);
  settings.allocation.companions = Companions::kAttach;
  return settings;
}

TEST(ResourceCatalog, ACompanionGoesWithTheCardOfItsSlot) {
  for (const std::uint32_t group : {1U, 2U}) {
    const auto catalog = sortIntoResources(
        offering({entry("class=0300", "a.b/gpu"), attaching("class=0403", "a.b/audio")}),
        cardsWithSound(group).snapshot());
    const ResourceName audio = *ResourceName::parse("a.b/audio");
    EXPECT_EQ(catalog.tickets, (Tickets{{at("0000:01:00.1"), {audio, at("0000:01:00.0")}},
                                        {at("0000:02:00.1"), {audio, at("0000:02:00.0")}}}));
    EXPECT_EQ(placeOf(catalog, "0000:02:00.1"), "-companion");
    EXPECT_FALSE(catalog.resources.contains(audio));
  }
}

TEST(ResourceCatalog, SaysWhyACompanionIsNotAttached) {
  ResourceSettings bare = entry("class=0300", "a.b/gpu");
  bare.allocation.kubevirtVariable = false;
  ResourceSettings claimed = entry("class=0300", "a.b/gpu");
  claimed.allocation.serve = Serve::kBoth;
  const ResourceSettings card = entry("class=0300", "a.b/gpu");
  const std::string travels = "travels with the display controller 0000:01:00.0 of its group";
  const std::string needs =
      "; it is not attached: the entry of a.b/gpu has to have serve: plugin, inject: nodes, "
      "kata: false and kubevirt in env";
  const struct {
    std::vector<ResourceSettings> entries;
    std::string text;
  } rows[] = {
      {{attaching("class=0403", "a.b/audio")}, ", which is in no resource: it is not attached"},
      {{bare, attaching("class=0403", "a.b/audio")}, needs},
      {{claimed, attaching("class=0403", "a.b/audio")}, needs},
      {{card, attaching("class=0403", "a.b/gpu")},
       "; it is not attached: PCI_RESOURCE_A_B_GPU is the variable of another resource, too: give "
       "the companions a name of their own"},
  };
  for (const auto& row : rows) {
    const auto catalog = sortIntoResources(offering(row.entries), cardsWithSound(2).snapshot());
    EXPECT_TRUE(catalog.tickets.empty()) << row.text;
    EXPECT_EQ(catalog.leftOut.at(at("0000:01:00.1")).text, travels + row.text);
  }
}

TEST(ResourceCatalog, AnEntryThatAttachesTakesNoOtherSound) {
  Hardware hardware;
  hardware.add("0000:00:1f.3", 9).classCode = 0x040300;
  const auto catalog =
      sortIntoResources(offering({attaching("class=0403", "a.b/audio")}), hardware.snapshot());
  EXPECT_EQ(catalog.leftOut.at(at("0000:00:1f.3")).text,
            "no display controller is in its group, and its entry says companions: attach: give it "
            "an entry of its own");
}

TEST(ResourceCatalog, OneEntryAttachesByModelsNames) {
  Hardware hardware = cardsWithSound(2);
  hardware.device("0000:01:00.1").device = std::uint16_t{0x22ba};
  hardware.device("0000:02:00.1").device = std::uint16_t{0x22ba};
  const auto catalog = sortIntoResources(offering({attaching("vendor=10de")}), hardware.snapshot());
  EXPECT_EQ(placeOf(catalog, "0000:01:00.0"), "vfiogate.dev/10de_2684");
  EXPECT_EQ(catalog.tickets.at(at("0000:02:00.1")).resource.str(), "vfiogate.dev/10de_22ba");
}

TEST(ResourceCatalog, OffersNothingWithoutAnEntry) {
  Hardware hardware;
  hardware.add("0000:01:00.0", 1);
  const auto catalog = sortIntoResources(Settings{}, hardware.snapshot());
  EXPECT_TRUE(catalog.resources.empty());
  EXPECT_EQ(placeOf(catalog, "0000:01:00.0"), "-unmatched");
}

}  // namespace
}  // namespace vfiogate
