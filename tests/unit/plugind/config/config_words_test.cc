// Rows of bad configurations: every refusal says where, what, and what would mend it.

#include <gtest/gtest.h>

#include "tests/unit/plugind/config/bad_config.h"

namespace vfiogate {
namespace {

using test::BadText;
using test::entry;
using test::refusals;
using test::rowName;
using test::selecting;

class ConfigRefusesWords : public testing::TestWithParam<BadText> {};

TEST_P(ConfigRefusesWords, SayingWhereWhatAndWhatWouldMendIt) {
  EXPECT_EQ(refusals(GetParam().yaml), GetParam().want) << GetParam().yaml;
}

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

INSTANTIATE_TEST_SUITE_P(Selector, ConfigRefusesWords, testing::ValuesIn(kSelectors), rowName);

const BadText kPlaces[] = {
    {"SlotWithSlash",
     selecting("slot: \"a/b\""),
     {"p.yaml:2: resources[0].select.slot: found \"a/b\"; write a slot's name as "
      "/sys/bus/pci/slots has it, such as 4, or 4*"}},
    {"RootPortInText",
     "exclude: [rootPort=3a:00.0]\n",
     {"p.yaml:1: exclude[0]: in \"rootPort=3a:00.0\": found \"3a:00.0\"; write the address of the "
      "bridge on the root bus, such as 0000:3a:00.0"}},
};

INSTANTIATE_TEST_SUITE_P(Places, ConfigRefusesWords, testing::ValuesIn(kPlaces), rowName);

const BadText kLocality[] = {
    {"AlignWithAnother",
     entry("alignWith: gpu"),
     {"p.yaml:3: resources[0].alignWith: found \"gpu\"; choose from: none, nic"}},
    {"EnvOfAnother",
     entry("env: [dpdk]"),
     {"p.yaml:3: resources[0].env[0]: found \"dpdk\"; choose from: kubevirt, sriov, none"}},
};

INSTANTIATE_TEST_SUITE_P(Locality, ConfigRefusesWords, testing::ValuesIn(kLocality), rowName);

constexpr const char* kNobody =
    "nobody serves it through DRA: set dra.driver, such as vfio.vfiogate.dev, or serve: plugin";

std::string badDriver(const std::string& found) {
  return "p.yaml:1: dra.driver: found \"" + found +
         "\"; write a lower-case domain of at most 63 characters that begins with a letter, such "
         "as vfio.vfiogate.dev";
}

const BadText kDra[] = {
    {"ServeDraAlone",
     entry("serve: dra"),
     {std::string("p.yaml:3: resources[0].serve: ") + kNobody}},
    {"ServeBothAlone",
     entry("serve: both"),
     {std::string("p.yaml:3: resources[0].serve: ") + kNobody}},
    {"ServeUnknown",
     entry("serve: DRA"),
     {"p.yaml:3: resources[0].serve: found \"DRA\"; did you mean dra?"}},
    {"UpperCase", "dra: {driver: Vfio.dev}\n", {badDriver("Vfio.dev")}},
    {"DigitFirst", "dra: {driver: 9p.dev}\n", {badDriver("9p.dev")}},
    {"EmptyLabel", "dra: {driver: a..b}\n", {badDriver("a..b")}},
    {"DotLast", "dra: {driver: a.}\n", {badDriver("a.")}},
    {"DashLast", "dra: {driver: a-.b}\n", {badDriver("a-.b")}},
    {"Slash", "dra: {driver: a/b}\n", {badDriver("a/b")}},
    {"Parent", "dra: {driver: ..}\n", {badDriver("..")}},
    {"TooLong", "dra: {driver: " + std::string(64, 'a') + "}\n", {badDriver(std::string(64, 'a'))}},
    {"MetadataNoBoolean",
     "dra: {metadataFiles: maybe}\n",
     {"p.yaml:1: dra.metadataFiles: found \"maybe\"; write true or false"}},
};

INSTANTIATE_TEST_SUITE_P(Dra, ConfigRefusesWords, testing::ValuesIn(kDra), rowName);

}  // namespace
}  // namespace vfiogate
