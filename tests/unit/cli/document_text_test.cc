#include "cli/common_options.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace vfiogate {
namespace {

using Json = nlohmann::ordered_json;

TEST(DocumentText, YamlIsInBlocksWithStringsInQuotes) {
  const Json document = Json::parse(R"({"version": 1, "none": [], "nothing": {}, "no": null,
    "devices": [{"address": "0000:01:00.0", "members": ["a", "b\n\"c\""], "sriov": {"role": "none"}},
                {"address": "0000:02:00.0"}], "matrix": [[1, 2], []]})");
  EXPECT_EQ(documentText(document, "yaml"), R"(version: 1
none: []
nothing: {}
"no": null
devices:
  - address: "0000:01:00.0"
    members:
      - "a"
      - "b\n\"c\""
    sriov:
      role: "none"
  - address: "0000:02:00.0"
matrix:
  - - 1
    - 2
  - []
)");
  EXPECT_EQ(documentText(Json::array(), "yaml"), "[]\n");
}

TEST(DocumentText, JsonIsIndented) {
  EXPECT_EQ(documentText(Json{{"a", 1}}, "json"), "{\n  \"a\": 1\n}\n");
}

TEST(DocumentText, AJsonTextBecomesYaml) {
  EXPECT_EQ(yamlOf(R"({"b": [1, "x"], "a": null})"), "b:\n  - 1\n  - \"x\"\na: null\n");
}

TEST(DocumentText, WhatIsNoUtf8IsReplaced) {
  EXPECT_EQ(documentText(Json{{"a", "\xff"}}, "yaml"), "a: \"\xef\xbf\xbd\"\n");
}

}  // namespace
}  // namespace vfiogate
