#include "plugind/config/config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

#include "plugind/config/settings_review.h"
#include "tests/unit/plugind/config/bad_config.h"

namespace vfiogate {
namespace {

using std::chrono::milliseconds;
using test::refusals;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

Config accepted(std::string_view text) {
  auto config = parseConfig(text, "p.yaml");
  if (config) return *std::move(config);
  std::string why;
  for (const ConfigRemark& problem : config.error()) why += problem.str() + "\n";
  ADD_FAILURE() << "refused:\n" << why << "text:\n" << text;
  return {};
}

std::vector<std::string> warnings(const Config& config) {
  std::vector<std::string> lines;
  for (const ConfigRemark& warning : config.warnings) lines.push_back(warning.str());
  for (const ConfigRemark& hint : config.hints) lines.push_back("hint: " + hint.str());
  return lines;
}

TEST(Config, TellsEveryProblemInTheOrderOfLines) {
  EXPECT_THAT(
      refusals("naming: x\ngrace: y\nfoo: z\n"),
      ElementsAre(testing::StartsWith("p.yaml:1: naming"), testing::StartsWith("p.yaml:2: grace"),
                  testing::StartsWith("p.yaml:3: unknown")));
}

TEST(Config, CountsProblemsBeyondTheTwentieth) {
  std::string text;
  for (int i = 0; i < 25; ++i) text += "key" + std::to_string(i) + ": 1\n";
  const auto lines = refusals(text);
  ASSERT_EQ(lines.size(), 21U);
  EXPECT_EQ(lines.back(), "p.yaml: and 5 more problems");
}

TEST(Config, RefusesMoreEntriesThanPrivdHasSocketsFor) {
  std::string text = "resources:\n";
  for (int i = 0; i < 65; ++i) text += "- select: {numa: " + std::to_string(i) + "}\n";
  EXPECT_THAT(refusals(text), ElementsAre("p.yaml:1: resources: found 65 entries; at most 64"));
}

TEST(Config, RefusesAFileThatIsTooLargeUnread) {
  EXPECT_THAT(refusals(std::string(kMaxConfigBytes + 1, '[')),
              ElementsAre("p.yaml: larger than 1 MiB"));
}

TEST(Config, RefusesNestingWithoutEnd) {
  EXPECT_EQ(refusals("grace: " + std::string(100'000, '[')).size(), 1U);
  EXPECT_EQ(refusals(std::string(100'000, '{')).size(), 1U);
}

TEST(Config, WithoutAnyKeyHasTheDefaultsAndSaysThatNothingIsAdvertised) {
  for (const char* text : {"", "# nothing\n", "{}\n", "resources: []\n", "---\n"}) {
    const Config config = accepted(text);
    EXPECT_EQ(config.settings, Settings{}) << text;
    ASSERT_EQ(config.warnings.size(), 1U) << text;
    EXPECT_EQ(config.warnings[0].text,
              "nothing is advertised until something is named under resources");
  }
}

TEST(Config, TakesDefaultsThatAreWrittenOutEvenOfWhatIsNotBuilt) {
  const Config config = accepted(printEffective(accepted("")));
  EXPECT_EQ(config.settings, Settings{});
}

TEST(Config, ReadsEveryKeyThatThisVersionHas) {
  const Settings settings = accepted(R"(
resourcePrefix: example.org
naming: pci_vendor_device
aliases: {"10DE:2684": nvidia.com/GB202}
exclude: ["10de:22ba", {address: ["0000:01:*"], numa: [0, 1]}]
resources:
- select: {vendor: 10DE, device: ["2235", 10de], class: "0x03", driver: vfio-pci, sriov: vf}
- name: example.org/nic
  select: {vendor: "8086"}
  backend: both
  env: none
  groupUnit: all
  companions: advertise
- {select: {vendor: "1002"}, groupUnit: whole}
- {select: {vendor: "1234"}, bind: on-allocate, returnTo: original, serve: both}
- {select: {vendor: "1235"}, serve: dra}
dra: {driver: vfio.example.org, metadataFiles: true}
grace: 2m
bindDeadline: 10s
allocateWait: 500ms
refusalDetail: full
)")
                                .settings;
  EXPECT_EQ(settings.resourcePrefix, "example.org");
  EXPECT_EQ(settings.naming, Naming::kPciVendorDevice);
  EXPECT_EQ(settings.aliases.at({0x10de, 0x2684}).str(), "nvidia.com/GB202");
  ASSERT_EQ(settings.exclude.size(), 2U);
  EXPECT_EQ(settings.exclude[0], *Selector::parse("10de:22ba"));
  EXPECT_EQ(settings.exclude[1], *Selector::parse("address=0000:01:*,numa=0,numa=1"));
  ASSERT_EQ(settings.resources.size(), 5U);
  EXPECT_EQ(settings.resources[0].name, std::nullopt);
  EXPECT_EQ(
      settings.resources[0].select,
      *Selector::parse("vendor=10de,device=2235,device=10de,class=03,driver=vfio-pci,sriov=vf"));
  EXPECT_EQ(settings.resources[0].allocation, AllocationSettings{});
  EXPECT_EQ(settings.resources[1].name, ResourceName::parse("example.org/nic"));
  EXPECT_EQ(settings.resources[1].allocation,
            (AllocationSettings{.backend = Backend::kBoth,
                                .kubevirtVariable = false,
                                .groupUnit = GroupUnit::kAll,
                                .companions = Companions::kAdvertise}));
  EXPECT_EQ(settings.resources[2].allocation, (AllocationSettings{.groupUnit = GroupUnit::kWhole}));
  EXPECT_EQ(
      settings.resources[3].allocation,
      (AllocationSettings{.onAllocate = true, .returnToOriginal = true, .serve = Serve::kBoth}));
  EXPECT_EQ(settings.resources[4].allocation, (AllocationSettings{.serve = Serve::kDra}));
  EXPECT_EQ(settings.dra, (DraSettings{.driver = "vfio.example.org", .metadataFiles = true}));
  EXPECT_EQ(settings.bindDeadline, milliseconds(10'000));
  EXPECT_EQ(settings.grace, milliseconds(120'000));
  EXPECT_EQ(settings.allocateWait, milliseconds(500));
  EXPECT_EQ(settings.refusalDetail, RefusalDetail::kFull);
}

TEST(Config, ReadsVariablesAndWhatADeviceShallBeBeside) {
  const Settings settings = accepted(
                                "resources:\n- {select: {numa: 0}, env: [sriov, kubevirt]}\n"
                                "- {select: {numa: 1}, env: sriov, alignWith: nic}\n"
                                "- {select: {numa: 2}, env: none, alignWith: none}\n")
                                .settings;
  EXPECT_EQ(settings.resources[0].allocation, (AllocationSettings{.sriovVariable = true}));
  EXPECT_EQ(
      settings.resources[1].allocation,
      (AllocationSettings{.kubevirtVariable = false, .sriovVariable = true, .besideNic = true}));
  EXPECT_EQ(settings.resources[2].allocation, (AllocationSettings{.kubevirtVariable = false}));
}

TEST(Config, WarnsOfWhatMayNotBeMeant) {
  struct Row {
    std::string yaml;
    std::vector<std::string> want;
  };
  const Row rows[] = {
      {"resources:\n- select: {vendor: \"10de\"}\n- select: {class: \"03\"}\n",
       {"hint: p.yaml:3: resources[1].select: may overlap resources[0], which comes first and gets "
        "what both select"}},
      {"resources:\n- select: {class: \"03\"}\n- select: {class: \"0302\", numa: 1}\n",
       {"p.yaml:3: resources[1].select: never matches: resources[0] comes first and selects all "
        "of it"}},
      {"resources:\n- select: {vendor: \"10de\"}\n- select: {vendor: \"8086\"}\n", {}},
      {"resources:\n- select: {address: \"0000:01:*\"}\n- select: {address: 0000:02:00.0}\n", {}},
      {"resources:\n- select: {mdev: nvidia-711}\n- select: {vendor: \"10de\"}\n", {}},
      {"resources:\n- select: {mdev: nvidia-*}\n- select: {mdev: nvidia-711, numa: 1}\n",
       {"hint: p.yaml:3: resources[1].select: may overlap resources[0], which comes first and gets "
        "what both select"}},
      {"resources:\n- {name: a.b/c, select: {numa: 0}}\n",
       {"hint: p.yaml: privd serves a.b only with --resource-prefix a.b/"}},
      {"aliases:\n  10de:2684: vfiogate.dev/x\nresources:\n- {name: vfiogate.dev/y, select: {numa: "
       "0}}\n",
       {"p.yaml:1: aliases: no effect: they name the devices of entries without a name"}},
      {"resources:\n- {select: {numa: 0}, returnTo: original}\n",
       {"p.yaml:2: resources[0].returnTo: no effect without bind: on-allocate: only what was bound "
        "for an allocation goes back"}},
      {"resources:\n- {select: {numa: 0}, backend: legacy, prefer: iommufd}\n",
       {"p.yaml:2: resources[0].prefer: no effect but with backend: auto, which alone has a "
        "choice"}},
      {"resources:\n- {select: {numa: 0}, prefer: iommufd}\n", {}},
      {"resources:\n- {select: {numa: 0}, bind: on-allocate, returnTo: original}\n",
       {"hint: p.yaml: privd binds for an allocation only with bind among its --plugind-rights"}},
      {"dra: {driver: a.b}\nresources:\n- {select: {numa: 0}}\n",
       {"p.yaml:1: dra.driver: no effect: no resource says serve: dra or serve: both"}},
      {"dra: {metadataFiles: true}\nresources:\n- {select: {numa: 0}}\n",
       {"p.yaml:1: dra.metadataFiles: no effect without dra.driver"}},
      {"dra: {driver: a.b}\nresources:\n- {select: {numa: 0}, name: vfiogate.dev/x, serve: dra, "
       "inject: cdi, alignWith: nic}\n",
       {"p.yaml:3: resources[0].inject: no effect with serve: dra: a claim has a CDI spec of its "
        "own",
        "p.yaml:3: resources[0].alignWith: no effect with serve: dra: claims align by a constraint "
        "on resource.kubernetes.io/pcieRoot",
        "hint: p.yaml: privd serves DRA only with --dra-driver a.b, and with cdi among its "
        "--plugind-rights"}},
  };
  for (const Row& row : rows) EXPECT_EQ(warnings(accepted(row.yaml)), row.want) << row.yaml;
}

TEST(Config, TakesDevicesWithoutAnIommuOnlyAsTheDevicePluginsNodes) {
  const auto entry = [](const std::string& keys) {
    return "resources:\n- {name: vfiogate.dev/nic, select: {numa: 0}, backend: noiommu" + keys +
           "}\n";
  };
  EXPECT_THAT(warnings(accepted(entry(""))),
              ElementsAre(HasSubstr("resources[0].backend: noiommu isolates nothing")));
  for (const char* spec : {", inject: cdi", ", kata: true"}) {
    EXPECT_THAT(refusals(entry(spec)),
                ElementsAre(HasSubstr("noiommu goes with serve: plugin, inject: nodes")))
        << spec;
  }
  EXPECT_THAT(refusals("dra: {driver: a.b}\n" + entry(", serve: both")),
              ElementsAre(HasSubstr("noiommu goes with serve: plugin")));
  EXPECT_THAT(refusals(entry(", bind: on-allocate")),
              ElementsAre(HasSubstr("noiommu goes with bind: never")));
}

TEST(Config, TakesALaunchersSocketWhereItIsOfUse) {
  const auto entry = [](const std::string& keys) {
    return "dra: {driver: a.b}\nresources:\n- {name: vfiogate.dev/gpu, select: {numa: 0}, serve: "
           "both" +
           keys + "}\n";
  };
  const std::string key = ", iommufdSocket: /run/vfiogate/iommufd/iommufd.sock";
  const auto taken = accepted(entry(key + ", backend: iommufd"));
  EXPECT_EQ(taken.settings.resources[0].allocation.iommufdSocket,
            "/run/vfiogate/iommufd/iommufd.sock");
  EXPECT_EQ(accepted(entry("")).settings.resources[0].allocation.iommufdSocket, "");
  for (const char* way : {", backend: both", ", prefer: iommufd"}) {
    EXPECT_THAT(refusals(entry(key + way)), IsEmpty()) << way;
  }
  EXPECT_THAT(
      warnings(accepted(entry(key))),
      testing::Contains(HasSubstr("resources[0].iommufdSocket: only for a device whose group "
                                  "has no node: set prefer: iommufd")));
  for (const char* backend : {", backend: legacy", ", backend: noiommu"}) {
    EXPECT_THAT(
        refusals(entry(key + backend)),
        testing::Contains(HasSubstr("resources[0].iommufdSocket: not with this backend, which "
                                    "never hands over /dev/iommu")))
        << backend;
  }
  EXPECT_THAT(refusals(entry(key + ", backend: iommufd, kata: true")),
              ElementsAre(HasSubstr("resources[0].iommufdSocket: not with kata: true")));
  EXPECT_THAT(
      refusals("dra: {driver: a.b}\nresources:\n- {name: vfiogate.dev/x, select: {numa: 0}, "
               "serve: dra, backend: iommufd" +
               key + "}\n"),
      ElementsAre(HasSubstr("resources[0].iommufdSocket: not with serve: dra")));
  EXPECT_THAT(refusals("resources:\n- {select: {mdev: nvidia-711}, backend: iommufd" + key + "}\n"),
              ElementsAre(HasSubstr("resources[0].iommufdSocket: not with mdev")));
  for (const char* path : {"run/iommufd.sock", "/", "/run/../iommufd.sock", "/run//iommufd.sock",
                           "/run/iommufd/", "'/run/a b'"}) {
    EXPECT_THAT(refusals(entry(std::string(", backend: iommufd, iommufdSocket: ") + path)),
                ElementsAre(HasSubstr("resources[0].iommufdSocket: found ")))
        << path;
  }
}

TEST(Config, RefusesTwoResourcesThatGiveOneVariable) {
  const auto two = [](const std::string& first, const std::string& second) {
    return refusals("resources:\n- {name: vfiogate.dev/" + first + "}\n- {name: vfiogate.dev/" +
                    second + "}\n");
  };
  EXPECT_THAT(
      two("gpu.a, select: {numa: 0}", "GPU_A, select: {numa: 1}"),
      ElementsAre("p.yaml:3: resources[1].name: vfiogate.dev/GPU_A gives containers the same "
                  "variable as vfiogate.dev/gpu.a, PCI_RESOURCE_VFIOGATE_DEV_GPU_A; rename "
                  "one, or set env: [none] where nothing reads it"));
  EXPECT_THAT(two("gpu, select: {numa: 0}, env: [sriov]", "GPU, select: {numa: 1}, env: [sriov]"),
              ElementsAre(HasSubstr("PCIDEVICE_VFIOGATE_DEV_GPU;")));
  for (const char* other :
       {"GPU, select: {numa: 1}, env: [none]", "GPU, select: {numa: 1}, env: [sriov]",
        "GPU, select: {mdev: nvidia-711}", "GP-U, select: {numa: 1}"}) {
    EXPECT_THAT(two("gpu, select: {numa: 0}", other), IsEmpty()) << other;
  }
  EXPECT_THAT(refusals("dra: {driver: a.b}\nresources:\n- {name: vfiogate.dev/gpu, select: {numa: "
                       "0}}\n- {name: vfiogate.dev/GPU, select: {numa: 1}, serve: dra}\n"),
              IsEmpty());
  EXPECT_THAT(refusals("aliases:\n  10de:2684: vfiogate.dev/GPU\nresources:\n- {name: "
                       "vfiogate.dev/gpu, select: {numa: 0}}\n- {select: {numa: 1}}\n"),
              ElementsAre(HasSubstr("aliases: vfiogate.dev/GPU gives")));
}

TEST(Config, RefusesWhatMakesNoSenseOfMediatedDevices) {
  EXPECT_THAT(refusals("resources:\n- {select: {mdev: nvidia-711}, bind: on-allocate}\n"),
              ElementsAre("p.yaml:2: resources[0].bind: mediated devices are never bound: leave "
                          "bind out of an entry with mdev"));
  EXPECT_THAT(refusals("resources:\n- {select: {mdev: nvidia-711, driver: vfio-pci}}\n"),
              ElementsAre("p.yaml:2: resources[0].select.driver: never matches: beside mdev it is "
                          "the parent's driver, which is one of the host's, such as nvidia"));
  EXPECT_THAT(refusals("resources:\n- {select: {mdev: nvidia-711, driver: nvidia}}\n"), IsEmpty());
  EXPECT_THAT(refusals("resources:\n- {select: {mdev: \"a;b\"}}\n"),
              ElementsAre(HasSubstr("write a type of mediated devices such as nvidia-711, or its "
                                    "name, NVIDIA A16-4Q")));
}

TEST(Config, RefusesWhatMakesNoSenseOfVgpus) {
  EXPECT_THAT(refusals("resources:\n- {select: {vgpu: \"1147\"}, bind: on-allocate}\n"),
              ElementsAre("p.yaml:2: resources[0].bind: vGPUs are never bound: leave bind out of "
                          "an entry with vgpu"));
  EXPECT_THAT(refusals("resources:\n- {select: {vgpu: \"1147\", mdev: nvidia-711}}\n"),
              ElementsAre("p.yaml:2: resources[0].select: never matches: mdev is of mediated "
                          "devices, vgpu of virtual functions"));
  EXPECT_THAT(refusals("resources:\n- {select: {vgpu: [\"1147\", NVIDIA L40S-2Q], numa: 0}}\n"),
              IsEmpty());
  EXPECT_THAT(refusals("resources:\n- {select: {vgpu: \"a;b\"}}\n"),
              ElementsAre(HasSubstr("write a type of vGPUs such as 1147, or its name, NVIDIA "
                                    "L40S-1Q")));
}

TEST(Config, KeepsTheNameOfTheDriverOverAReload) {
  Settings inEffect;
  inEffect.dra.driver = "a.b";
  Settings posted = inEffect;
  posted.dra.metadataFiles = true;
  EXPECT_EQ(refuseReload(inEffect, posted, true), std::nullopt);
  posted.dra.driver = "c.d";
  EXPECT_EQ(refuseReload(inEffect, posted, true),
            "dra.driver is \"a.b\" and would be \"c.d\": restart plugind for that");
  EXPECT_EQ(refuseReload(inEffect, Settings{}, true),
            "dra.driver is \"a.b\" and would be none: restart plugind for that");
}

TEST(Config, NamesByPciIdsOnlyWhereItWasReadAtTheStart) {
  const Settings posted = accepted("naming: pci-ids\n").settings;
  EXPECT_EQ(posted.naming, Naming::kPciIds);
  EXPECT_EQ(refuseReload(Settings{}, posted, true), std::nullopt);
  EXPECT_EQ(refuseReload(Settings{}, posted, false),
            "it names or selects devices by pci.ids, which is read at the start: restart plugind "
            "for that");
  EXPECT_EQ(refuseReload(posted, Settings{}, false), std::nullopt);
}

TEST(Config, PrintedParsesBackToItself) {
  const char* const texts[] = {
      "",
      "dra: {driver: a.b, metadataFiles: true}\nresources: [{select: {numa: 0}, serve: both}]\n",
      "aliases: {\"10de:2684\": a.b/c, \"8086:0010\": a.b/d}\ngrace: 1500ms\nallocateWait: 0s\n",
      "exclude: [\"8086:0010\", \"numa=3,class=0108\"]\nnaming: pci-ids\n",
      R"(resources:
- select: {vendor: "0010", device: ["1e07", "0x2235"], numa: [0, 7]}
- {name: x.y/z-1.2_3, select: "address=*:00.0,driver=vfio-pci", env: none}
- {name: x.y/nic, select: {class: "02", product: "*[ConnectX-5]*"}, env: [sriov], alignWith: nic}
)",
  };
  for (const char* text : texts) {
    const Config first = accepted(text);
    const Config again = accepted(printEffective(first));
    EXPECT_EQ(again.settings, first.settings) << text;
    EXPECT_EQ(again.effective, first.effective) << text;
  }
}

TEST(Config, ShippedExampleIsAccepted) {
  const char* const source = std::getenv("VFIOGATE_SOURCE");
  ASSERT_NE(source, nullptr);
  std::ifstream file(std::string(source) + "/deploy/examples/plugind.yaml");
  std::stringstream text;
  text << file.rdbuf();
  const Config config = accepted(text.str());
  EXPECT_EQ(config.settings.resources.size(), 2U);
  EXPECT_EQ(config.settings.grace, Settings{}.grace);
}

}  // namespace
}  // namespace vfiogate
