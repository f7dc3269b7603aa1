// Rows of bad configurations: every refusal says where, what, and what would mend it.

#include <gtest/gtest.h>

#include "tests/unit/plugind/config/bad_config.h"

namespace vfiogate {
namespace {

using test::BadText;
using test::entry;
using test::refusals;
using test::rowName;

class ConfigRefusesForm : public testing::TestWithParam<BadText> {};

TEST_P(ConfigRefusesForm, SayingWhereWhatAndWhatWouldMendIt) {
  EXPECT_EQ(refusals(GetParam().yaml), GetParam().want) << GetParam().yaml;
}

const BadText kShapes[] = {
    {"NoYaml", "a: [1, 2", {"p.yaml:1: not YAML: end of sequence flow not found"}},
    {"TabIndent",
     "dra:\n\tdriver: x\n",
     {"p.yaml:2: not YAML: illegal map value; indent with blanks, not tabs"}},
    {"List",
     "- a\n",
     {"p.yaml:1: found a list; write keys: resourcePrefix, naming, aliases, exclude, resources, "
      "dra, grace, allocateWait, bindDeadline, "
      "emptyResourceAfter, refusalDetail, holdDown"}},
    {"Word",
     "hello\n",
     {"p.yaml:1: found \"hello\"; write keys: resourcePrefix, naming, aliases, exclude, resources, "
      "dra, grace, allocateWait, bindDeadline, "
      "emptyResourceAfter, refusalDetail, holdDown"}},
    {"TwoDocuments",
     "grace: 1s\n---\ngrace: 2s\n",
     {"p.yaml:2: a second document; one file holds one: remove the ---"}},
    {"ControlCharacter",
     "grace: \"\\\x1b[2J\"\n",
     {"p.yaml:1: not YAML: unknown escape character: ?"}},
    {"Alias", "exclude: &x []\nresources: *x\n", {"p.yaml:1: a YAML anchor (&name); remove it"}},
    {"Tag", "grace: !!str 60s\n", {"p.yaml:1: a YAML tag (!name); remove it"}},
    {"UnknownKey",
     "\n\nfoo: 1\n",
     {"p.yaml:3: unknown key \"foo\"; the keys here are: resourcePrefix, naming, aliases, exclude, "
      "resources, dra, grace, allocateWait, bindDeadline, "
      "emptyResourceAfter, refusalDetail, holdDown"}},
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
      "resources, dra, grace, allocateWait, bindDeadline, "
      "emptyResourceAfter, refusalDetail, holdDown"}},
    {"UnprintableKey",
     "\"a\\n\\e[31m\": 1\n",
     {"p.yaml:1: unknown key \"a??[31m\"; the keys here are: resourcePrefix, naming, aliases, "
      "exclude, resources, dra, grace, allocateWait, bindDeadline, "
      "emptyResourceAfter, refusalDetail, holdDown"}},
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
     {"p.yaml:1: naming: found a list; choose from: vendor_device, pci_vendor_device, pci-ids"}},
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

INSTANTIATE_TEST_SUITE_P(Shape, ConfigRefusesForm, testing::ValuesIn(kShapes), rowName);

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
     {"p.yaml:3: resources[0].backend: found \"none\"; choose from: auto, legacy, iommufd, both, "
      "noiommu"}},
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

INSTANTIATE_TEST_SUITE_P(Value, ConfigRefusesForm, testing::ValuesIn(kValues), rowName);

}  // namespace
}  // namespace vfiogate
