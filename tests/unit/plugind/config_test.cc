#include "plugind/config/config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

namespace vfiogate {
namespace {

using std::chrono::milliseconds;

Config accepted(std::string_view text) {
  auto config = parseConfig(text, "p.yaml");
  if (config) return *std::move(config);
  std::string why;
  for (const ConfigRemark& problem : config.error()) why += problem.str() + "\n";
  ADD_FAILURE() << "refused:\n" << why << "text:\n" << text;
  return {};
}

std::vector<std::string> refusals(std::string_view text) {
  const auto config = parseConfig(text, "p.yaml");
  std::vector<std::string> lines;
  if (config) return lines;
  for (const ConfigRemark& problem : config.error()) lines.push_back(problem.str());
  return lines;
}

std::vector<std::string> warnings(const Config& config) {
  std::vector<std::string> lines;
  for (const ConfigRemark& warning : config.warnings) lines.push_back(warning.str());
  return lines;
}

struct BadText {
  std::string name;
  std::string yaml;
  std::vector<std::string> want;  ///< every line of the refusal
};

class ConfigRefuses : public testing::TestWithParam<BadText> {};

TEST_P(ConfigRefuses, SayingWhereWhatAndWhatWouldMendIt) {
  EXPECT_EQ(refusals(GetParam().yaml), GetParam().want) << GetParam().yaml;
}

/// One entry of resources that is fine but for the line given, which is line 3.
std::string entry(const std::string& line) {
  return "resources:\n- select: {vendor: \"10de\"}\n  " + line + "\n";
}
/// A selector that holds only the text given, in line 2.
std::string selecting(const std::string& keys) {
  return "resources:\n- select: {" + keys + "}\n";
}

const BadText kShapes[] = {
    {"NoYaml", "a: [1, 2", {"p.yaml:1: not YAML: end of sequence flow not found"}},
    {"TabIndent",
     "dra:\n\tdriver: x\n",
     {"p.yaml:2: not YAML: illegal map value; indent with blanks, not tabs"}},
    {"List",
     "- a\n",
     {"p.yaml:1: found a list; write keys: resourcePrefix, naming, aliases, exclude, resources, "
      "dra, grace, allocateWait, refusalDetail"}},
    {"Word",
     "hello\n",
     {"p.yaml:1: found \"hello\"; write keys: resourcePrefix, naming, aliases, exclude, resources, "
      "dra, grace, allocateWait, refusalDetail"}},
    {"TwoDocuments",
     "grace: 1s\n---\ngrace: 2s\n",
     {"p.yaml:2: a second document; one file holds one: remove the ---"}},
    {"Alias", "exclude: &x []\nresources: *x\n", {"p.yaml:1: a YAML anchor (&name); remove it"}},
    {"Tag", "grace: !!str 60s\n", {"p.yaml:1: a YAML tag (!name); remove it"}},
    {"UnknownKey",
     "\n\nfoo: 1\n",
     {"p.yaml:3: unknown key \"foo\"; the keys here are: resourcePrefix, naming, aliases, exclude, "
      "resources, dra, grace, allocateWait, refusalDetail"}},
    {"NearKey", "resource: []\n", {"p.yaml:1: unknown key \"resource\"; did you mean resources?"}},
    {"SnakeKey",
     "allocate_wait: 1s\n",
     {"p.yaml:1: unknown key \"allocate_wait\"; did you mean allocateWait?"}},
    {"NearKeyBelow",
     entry("groupunit: one"),
     {"p.yaml:3: resources[0]: unknown key \"groupunit\"; did you mean groupUnit?"}},
    {"MergeKey",
     "<<: {grace: 1s}\n",
     {"p.yaml:1: unknown key \"<<\"; the keys here are: resourcePrefix, naming, aliases, exclude, "
      "resources, dra, grace, allocateWait, refusalDetail"}},
    {"UnprintableKey",
     "\"a\\n\\e[31m\": 1\n",
     {"p.yaml:1: unknown key \"a??[31m\"; the keys here are: resourcePrefix, naming, aliases, "
      "exclude, resources, dra, grace, allocateWait, refusalDetail"}},
    {"ListAsKey", "[a]: 1\n", {"p.yaml:1: a key must be a word"}},
    {"KeyTwice",
     "grace: 1s\nallocateWait: 1s\ngrace: 2s\n",
     {"p.yaml:3: key \"grace\" is given twice, first in line 1; remove one"}},
    {"NoValue",
     "grace:\n",
     {"p.yaml:1: grace: found no value; write a duration such as 60s or 500ms, or leave the key "
      "out"}},
    {"NullResources",
     "resources:\n# - select: {}\n",
     {"p.yaml:1: resources: found no value; write a list: \"- \" before each entry, or leave the "
      "key out"}},
    {"MapForList",
     "resources: {name: a/b}\n",
     {"p.yaml:1: resources: found keys; write a list: \"- \" before each entry"}},
    {"WordForList",
     "exclude: 10de:2684\n",
     {"p.yaml:1: exclude: found \"10de:2684\"; write a list: \"- \" before each entry"}},
    {"ListForWord",
     "naming: [vendor_device]\n",
     {"p.yaml:1: naming: found a list; choose from: vendor_device, pci_vendor_device"}},
    {"MapForWord",
     "resourcePrefix: {a: b}\n",
     {"p.yaml:1: resourcePrefix: found keys; write text"}},
    {"ListForMap",
     "aliases: [a]\n",
     {"p.yaml:1: aliases: found a list; write \"10de:2684\": NAME"}},
    {"EmptyList",
     entry("env: []"),
     {"p.yaml:3: resources[0].env: found an empty list; name a value or leave the key out"}},
};

const BadText kValues[] = {
    {"DurationWithoutUnit",
     "grace: 60\n",
     {"p.yaml:1: grace: found \"60\"; write a duration such as 60s or 500ms"}},
    {"DurationFraction",
     "grace: 1.5s\n",
     {"p.yaml:1: grace: found \"1.5s\"; write a duration such as 60s or 500ms"}},
    {"DurationNegative",
     "grace: -1s\n",
     {"p.yaml:1: grace: found \"-1s\"; write a duration such as 60s or 500ms"}},
    {"DurationOverflow",
     "grace: 99999999999999999999h\n",
     {"p.yaml:1: grace: found \"99999999999999999999h\"; write a duration such as 60s or 500ms"}},
    {"GraceTooLong", "grace: 61m\n", {"p.yaml:1: grace: found \"61m\"; at most 3600s"}},
    {"WaitTooLong",
     "grace: 1s\nallocateWait: 10001ms\n",
     {"p.yaml:2: allocateWait: found \"10001ms\"; at most 10s"}},
    {"BadEnum",
     entry("backend: none"),
     {"p.yaml:3: resources[0].backend: found \"none\"; choose from: auto, legacy, iommufd, both"}},
    {"NearEnum",
     "naming: vendor-devices\n",
     {"p.yaml:1: naming: found \"vendor-devices\"; did you mean vendor_device?"}},
    {"BadBool",
     entry("kata: \"false\""),
     {"p.yaml:3: resources[0].kata: found \"false\"; write true or false"}},
    {"BadPrefix",
     "resourcePrefix: Vfio_Gate\n",
     {"p.yaml:1: resourcePrefix: found \"Vfio_Gate\"; write a lower-case domain such as "
      "vfiogate.dev"}},
    {"ForbiddenPrefix",
     "resourcePrefix: x.kubernetes.io\n",
     {"p.yaml:1: resourcePrefix: found \"x.kubernetes.io\"; write a lower-case domain such as "
      "vfiogate.dev"}},
    {"ShortName",
     entry("name: gpu"),
     {"p.yaml:3: resources[0].name: found \"gpu\"; write the full name: vfiogate.dev/gpu"}},
    {"BadName",
     entry("name: a.b/c_"),
     {"p.yaml:3: resources[0].name: found \"a.b/c_\"; write PREFIX/NAME: PREFIX a lower-case "
      "domain outside kubernetes.io, NAME 1 to 63 of A-Z a-z 0-9 - _ . between two letters or "
      "digits"}},
    {"SameName",
     "resources:\n- {name: a.b/c, select: {numa: 0}}\n- {name: a.b/c, select: {numa: 1}}\n",
     {"p.yaml:3: resources[1].name: a.b/c is already the name of resources[0]; join their "
      "selectors or rename one"}},
    {"AliasKey",
     "aliases:\n  10de: a.b/c\n",
     {"p.yaml:2: aliases.10de: found key \"10de\"; write ids such as 10de:2684"}},
    {"AliasName",
     "aliases:\n  10de:2684: gpu\n",
     {"p.yaml:2: aliases.10de:2684: found \"gpu\"; write the full name: vfiogate.dev/gpu"}},
    {"AliasTwice",
     "aliases:\n  10de:abcd: a.b/c\n  10DE:ABCD: a.b/d\n",
     {"p.yaml:2: aliases.10de:abcd: the same ids are given twice; remove one"}},
    {"AliasOfOtherEntry",
     "aliases:\n  10de:abcd: a.b/c\nresources:\n- {name: a.b/c, select: {numa: 0}}\n",
     {"p.yaml:1: aliases: a.b/c is already the name of resources[0]; rename one of them"}},
    {"EnvTwice",
     entry("env: [kubevirt, kubevirt]"),
     {"p.yaml:3: resources[0].env: a value is named twice"}},
    {"EnvNoneBesideOther",
     entry("env: [none, kubevirt]"),
     {"p.yaml:3: resources[0].env: none stands beside another value; remove one of them"}},
};

const BadText kSelectors[] = {
    {"NoSelect",
     "resources:\n- name: a.b/c\n",
     {"p.yaml:2: resources[0]: selects every device; name at least one key, such as vendor"}},
    {"EmptySelect",
     "resources:\n- name: a.b/c\n  select: {}\n",
     {"p.yaml:3: resources[0].select: selects every device; name at least one key, such as "
      "vendor"}},
    {"EmptyExclude",
     "exclude: [{}]\n",
     {"p.yaml:1: exclude[0]: selects every device; name at least one key, such as vendor"}},
    {"NumberId",
     selecting("vendor: 1002"),
     {"p.yaml:2: resources[0].select.vendor: YAML reads 1002 as a number; quote it: \"1002\""}},
    {"NumberInList",
     selecting("device: [10de, 2235]"),
     {"p.yaml:2: resources[0].select.device[1]: YAML reads 2235 as a number; quote it: \"2235\""}},
    {"OctalId",
     selecting("device: 0010"),
     {"p.yaml:2: resources[0].select.device: YAML reads 0010 as a number; quote it: \"0010\""}},
    {"FloatId",
     selecting("device: 1e07"),
     {"p.yaml:2: resources[0].select.device: YAML reads 1e07 as a number; quote it: \"1e07\""}},
    {"BigFloatId",
     selecting("subdevice: 1E30"),
     {"p.yaml:2: resources[0].select.subdevice: YAML reads 1E30 as a number; quote it: \"1E30\""}},
    {"HexId",
     selecting("vendor: 0x10de"),
     {"p.yaml:2: resources[0].select.vendor: YAML reads 0x10de as a number; quote it: \"0x10de\""}},
    {"NumberClass",
     selecting("class: 03"),
     {"p.yaml:2: resources[0].select.class: YAML reads 03 as a number; quote it: \"03\""}},
    {"BooleanWord",
     selecting("driver: on"),
     {"p.yaml:2: resources[0].select.driver: YAML reads on as a boolean; quote it: \"on\""}},
    {"LongId",
     selecting("vendor: \"10de0\""),
     {"p.yaml:2: resources[0].select.vendor: found \"10de0\"; write 4 hex digits such as 10de"}},
    {"OddClass",
     selecting("class: [\"03\", \"030\"]"),
     {"p.yaml:2: resources[0].select.class[1]: found \"030\"; write 2, 4 or 6 hex digits such as "
      "03 or 0302"}},
    {"ShortAddress",
     selecting("address: 3b:00.0"),
     {"p.yaml:2: resources[0].select.address: found \"3b:00.0\"; write an address such as "
      "0000:3b:00.0 or 0000:3b:*"}},
    {"BadRoot",
     selecting("root: \"0000:00\""),
     {"p.yaml:2: resources[0].select.root: found \"0000:00\"; write a root complex such as "
      "pci0000:00"}},
    {"BadSriov",
     selecting("sriov: VF"),
     {"p.yaml:2: resources[0].select.sriov: found \"VF\"; write none, pf or vf"}},
    {"QuotedNumber",
     selecting("numa: \"0\""),
     {"p.yaml:2: resources[0].select.numa: found \"0\"; write a number without quotes, such as 0"}},
    {"NegativeNumber",
     selecting("numa: -1"),
     {"p.yaml:2: resources[0].select.numa: found \"-1\"; write a number without quotes, such as "
      "0"}},
    {"BigNumber",
     selecting("numa: 4294967296"),
     {"p.yaml:2: resources[0].select.numa: found \"4294967296\"; write a number without quotes, "
      "such as 0"}},
    {"UnknownSelectorKey",
     selecting("vendr: \"10de\""),
     {"p.yaml:2: resources[0].select: unknown key \"vendr\"; did you mean vendor?"}},
    {"SelectorText",
     "exclude: [\"vendor=10d\"]\n",
     {"p.yaml:1: exclude[0]: in \"vendor=10d\": found \"10d\"; write 4 hex digits such as 10de"}},
};

const BadText kNotBuilt[] = {
    {"PciIds",
     "naming: pci-ids\n",
     {"p.yaml:1: naming: found \"pci-ids\", which is not in this version; choose from: "
      "vendor_device, pci_vendor_device"}},
    {"RefusalDetail",
     "refusalDetail: full\n",
     {"p.yaml:1: refusalDetail: found \"full\", which is not in this version; choose from: "
      "minimal"}},
    {"EmptyAfter",
     "emptyResourceAfter: 5m\n",
     {"p.yaml:1: emptyResourceAfter: found \"5m\"; not in this version (ending empty resources): "
      "leave the key out"}},
    {"BindDeadline",
     "bindDeadline: 6s\n",
     {"p.yaml:1: bindDeadline: found \"6s\"; not in this version (binding on allocation): leave "
      "the key out"}},
    {"DraDriver",
     "dra:\n  driver: vfio.vfiogate.dev\n",
     {"p.yaml:2: dra.driver: found \"vfio.vfiogate.dev\"; not in this version (DRA): leave the key "
      "out"}},
    {"DraMetadata",
     "dra: {metadataFiles: true}\n",
     {"p.yaml:1: dra.metadataFiles: found \"true\"; not in this version (DRA): leave the key out"}},
    {"UnitAll",
     entry("groupUnit: all"),
     {"p.yaml:3: resources[0].groupUnit: found \"all\", which is not in this version; choose from: "
      "one"}},
    {"UnitWhole",
     entry("groupUnit: whole"),
     {"p.yaml:3: resources[0].groupUnit: found \"whole\", which is not in this version; choose "
      "from: one"}},
    {"Companions",
     entry("companions: advertise"),
     {"p.yaml:3: resources[0].companions: found \"advertise\", which is not in this version; "
      "choose from: hide"}},
    {"OnAllocate",
     entry("bind: on-allocate"),
     {"p.yaml:3: resources[0].bind: found \"on-allocate\", which is not in this version; choose "
      "from: never"}},
    {"ReturnTo",
     entry("returnTo: original"),
     {"p.yaml:3: resources[0].returnTo: found \"original\", which is not in this version; choose "
      "from: vfio"}},
    {"Cdi",
     entry("inject: cdi"),
     {"p.yaml:3: resources[0].inject: found \"cdi\", which is not in this version; choose from: "
      "nodes"}},
    {"Kata",
     entry("kata: true"),
     {"p.yaml:3: resources[0].kata: found \"true\"; not in this version (Kata): leave the key "
      "out"}},
    {"EnvSriov",
     entry("env: sriov"),
     {"p.yaml:3: resources[0].env: found \"sriov\", which is not in this version; choose from: "
      "kubevirt, none"}},
    {"ServeBoth",
     entry("serve: both"),
     {"p.yaml:3: resources[0].serve: found \"both\", which is not in this version; choose from: "
      "plugin"}},
    {"ServeDra",
     entry("serve: dra"),
     {"p.yaml:3: resources[0].serve: found \"dra\", which is not in this version; choose from: "
      "plugin"}},
    {"RequireReset",
     entry("requireReset: refuse"),
     {"p.yaml:3: resources[0].requireReset: found \"refuse\", which is not in this version; choose "
      "from: warn"}},
    {"Slot",
     selecting("slot: \"1\""),
     {"p.yaml:2: resources[0].select.slot: found \"1\"; not in this version (selecting by slot): "
      "leave the key out"}},
    {"Mdev",
     selecting("mdev: [nvidia-63]"),
     {"p.yaml:2: resources[0].select.mdev: found a list; not in this version (mediated devices): "
      "leave the key out"}},
    {"Product",
     selecting("product: x"),
     {"p.yaml:2: resources[0].select.product: found \"x\"; not in this version (selecting by "
      "product): leave the key out"}},
    {"SlotInText",
     "exclude: [slot=1]\n",
     {"p.yaml:1: exclude[0]: in \"slot=1\": key slot is not in this version"}},
};

void PrintTo(const BadText& row, std::ostream* out) {
  *out << row.name;
}
std::string rowName(const testing::TestParamInfo<BadText>& row) {
  return row.param.name;
}
INSTANTIATE_TEST_SUITE_P(Shape, ConfigRefuses, testing::ValuesIn(kShapes), rowName);
INSTANTIATE_TEST_SUITE_P(Value, ConfigRefuses, testing::ValuesIn(kValues), rowName);
INSTANTIATE_TEST_SUITE_P(Selector, ConfigRefuses, testing::ValuesIn(kSelectors), rowName);
INSTANTIATE_TEST_SUITE_P(NotBuilt, ConfigRefuses, testing::ValuesIn(kNotBuilt), rowName);

TEST(Config, TellsEveryProblemInTheOrderOfLines) {
  EXPECT_THAT(refusals("naming: x\ngrace: y\nfoo: z\n"),
              testing::ElementsAre(testing::StartsWith("p.yaml:1: naming"),
                                   testing::StartsWith("p.yaml:2: grace"),
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
  EXPECT_THAT(refusals(text),
              testing::ElementsAre("p.yaml:1: resources: found 65 entries; at most 64"));
}

TEST(Config, RefusesAFileThatIsTooLargeUnread) {
  EXPECT_THAT(refusals(std::string(kMaxConfigBytes + 1, '[')),
              testing::ElementsAre("p.yaml: larger than 1 MiB"));
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
grace: 2m
allocateWait: 500ms
)")
                                .settings;
  EXPECT_EQ(settings.resourcePrefix, "example.org");
  EXPECT_EQ(settings.naming, Naming::kPciVendorDevice);
  EXPECT_EQ(settings.aliases.at({0x10de, 0x2684}).str(), "nvidia.com/GB202");
  ASSERT_EQ(settings.exclude.size(), 2U);
  EXPECT_EQ(settings.exclude[0], *Selector::parse("10de:22ba"));
  EXPECT_EQ(settings.exclude[1], *Selector::parse("address=0000:01:*,numa=0,numa=1"));
  ASSERT_EQ(settings.resources.size(), 2U);
  EXPECT_EQ(settings.resources[0].name, std::nullopt);
  EXPECT_EQ(
      settings.resources[0].select,
      *Selector::parse("vendor=10de,device=2235,device=10de,class=03,driver=vfio-pci,sriov=vf"));
  EXPECT_EQ(settings.resources[0].lending, LendingSettings{});
  EXPECT_EQ(settings.resources[1].name, ResourceName::parse("example.org/nic"));
  EXPECT_EQ(settings.resources[1].lending,
            (LendingSettings{.backend = Backend::kBoth, .kubevirtVariable = false}));
  EXPECT_EQ(settings.grace, milliseconds(120'000));
  EXPECT_EQ(settings.allocateWait, milliseconds(500));
}

TEST(Config, WarnsOfWhatMayNotBeMeant) {
  struct Row {
    std::string yaml;
    std::vector<std::string> want;
  };
  const Row rows[] = {
      {"resources:\n- select: {vendor: \"10de\"}\n- select: {class: \"03\"}\n",
       {"p.yaml:3: resources[1].select: overlaps resources[0], which comes first and gets what "
        "both select"}},
      {"resources:\n- select: {class: \"03\"}\n- select: {class: \"0302\", numa: 1}\n",
       {"p.yaml:3: resources[1].select: never matches: resources[0] comes first and selects all "
        "of it"}},
      {"resources:\n- select: {vendor: \"10de\"}\n- select: {vendor: \"8086\"}\n", {}},
      {"resources:\n- select: {address: \"0000:01:*\"}\n- select: {address: 0000:02:00.0}\n", {}},
      {"resources:\n- {name: a.b/c, select: {numa: 0}}\n",
       {"p.yaml: privd serves a.b only with --resource-prefix a.b/"}},
      {"aliases:\n  10de:2684: vfiogate.dev/x\nresources:\n- {name: vfiogate.dev/y, select: {numa: "
       "0}}\n",
       {"p.yaml:1: aliases: no effect: they name the devices of entries without a name"}},
  };
  for (const Row& row : rows) EXPECT_EQ(warnings(accepted(row.yaml)), row.want) << row.yaml;
}

TEST(Config, PrintedParsesBackToItself) {
  const char* const texts[] = {
      "",
      "aliases: {\"10de:2684\": a.b/c, \"8086:0010\": a.b/d}\ngrace: 1500ms\nallocateWait: 0s\n",
      "exclude: [\"8086:0010\", \"numa=3,class=0108\"]\n",
      "resources:\n- select: {vendor: \"0010\", device: [\"1e07\", \"0x2235\"], numa: [0, 7]}\n"
      "- {name: x.y/z-1.2_3, select: \"address=*:00.0,driver=vfio-pci\", env: none}\n",
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
