// Claims' specs as privd writes them, read again; and texts that are not.

#include "plugind/dra/claims/claim_record.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <nlohmann/json.hpp>

#include "privd/cdi/cdi_spec.h"
#include "tests/support/played/claim_specs.h"

namespace vfiogate {
namespace {

using nlohmann::json;
using test::claimDevice;
using test::claimSpec;
using testing::HasSubstr;

std::string textOf(const ClaimSpec& spec) {
  return claimSpecText(
      spec, std::vector<std::vector<std::string>>(spec.devices.size(), {"/dev/vfio/vfio"}),
      "/var/lib/kubelet/plugins/x");
}

/// With everything that a claim can have.
ClaimSpec fullSpec() {
  ClaimSpec spec = claimSpec({"0000:02:00.0", "0000:3b:00.1"});
  spec.devices.push_back(claimDevice("10000:00:1f.7", "nic"));
  spec.devices.push_back(claimDevice("3f5e2c10-0001-4a5b-8c6d-00000000000a", "vgpu"));
  spec.devices[0].hands.insert(*Bdf::parse("0000:02:00.1"));
  spec.devices[1].backend = Backend::kBoth;
  spec.devices[2].backend = Backend::kIommufd;
  spec.devices[3].backend = Backend::kAutoIommufd;
  spec.devices[2].resource = "example.org/Fast_nic.1";
  spec.name = "train.0";
  spec.metadata = true;
  spec.podClaimName = "cards";
  spec.pool = "rack/node-1";
  return spec;
}

std::string whyNot(const std::string& text) {
  const auto read = readClaimSpec(text);
  return read ? "it was read" : read.error();
}

TEST(ClaimRecord, WhatPrivdWroteIsWhatWasAskedFor) {
  ClaimSpec plain = claimSpec();
  plain.pool.clear();
  plain.devices[0].backend = Backend::kLegacy;
  for (const ClaimSpec& spec : {plain, fullSpec()}) {
    const auto read = readClaimSpec(textOf(spec));
    ASSERT_TRUE(read) << read.error();
    EXPECT_EQ(*read, spec);
  }
}

TEST(ClaimRecord, NoPartOfItIsTaken) {
  const std::string text = textOf(fullSpec());
  // The last bytes are the file's end of line and no loss.
  for (std::size_t size = 0; size + 1 < text.size(); ++size) {
    ASSERT_FALSE(readClaimSpec(text.substr(0, size))) << size;
  }
}

TEST(ClaimRecord, ForeignTextsAreRefusedWithAReason) {
  EXPECT_EQ(whyNot(""), "not JSON");
  EXPECT_EQ(whyNot(std::string(kLongestClaimSpec + 1, ' ')), "longer than 64 KiB");
  EXPECT_EQ(whyNot(std::string(kLongestClaimSpec, '[')), "not JSON");
  for (const char* text : {"null", "[]", "1", "\"x\"", "{}"}) {
    EXPECT_THAT(whyNot(text), HasSubstr("the file")) << text;
  }
  EXPECT_THAT(whyNot(R"({"cdiVersion": "0.5.0", "kind": "nvidia.com/gpu", "devices": []})"),
              HasSubstr("the file has no containerEdits"));
}

struct Forged {
  std::string why;
  std::function<void(json&)> forge;
};

class ClaimRecordForged : public testing::TestWithParam<Forged> {};

TEST_P(ClaimRecordForged, SaysWhatIsWrong) {
  json file = json::parse(textOf(fullSpec()));
  GetParam().forge(file);
  EXPECT_THAT(whyNot(file.dump()), HasSubstr(GetParam().why));
}

json& editsOf(json& file, std::size_t device = 0) {
  return file["devices"][device]["containerEdits"];
}

constexpr const char* kDeviceStart = "VFIOGATE_DEVICE_0000_02_00_0=";

INSTANTIATE_TEST_SUITE_P(
    Table, ClaimRecordForged,
    testing::Values(
        Forged{"unknown format", [](json& file) { file["annotations"] = json::object(); }},
        Forged{"cdiVersion", [](json& file) { file["cdiVersion"] = "0.6.0"; }},
        Forged{"cdiVersion", [](json& file) { file["cdiVersion"] = 5; }},
        Forged{"kind", [](json& file) { file["kind"] = "vfio.vfiogate.dev/gpu"; }},
        Forged{"kind", [](json& file) { file["kind"] = nullptr; }},
        Forged{"driver", [](json& file) { file["kind"] = "/claim"; }},
        Forged{"containerEdits", [](json& file) { file["containerEdits"] = "x"; }},
        Forged{"unknown format",
               [](json& file) { file["containerEdits"]["hooks"] = json::array(); }},
        Forged{"not one variable",
               [](json& file) { file["containerEdits"]["env"].push_back("A=b"); }},
        Forged{"four values", [](json& file) { file["containerEdits"]["env"][0] = "A=b"; }},
        Forged{"four values", [](json& file) { file["containerEdits"]["env"][0] = ""; }},
        Forged{"another variable",
               [](json& file) { file["containerEdits"]["env"][0] = "A=ml/train;none;;"; }},
        Forged{"uid",
               [](json& file) {
                 file["containerEdits"]["env"][0] = "VFIOGATE_CLAIM_A=ml/train;none;;";
                 file["devices"] = json::array();
               }},
        Forged{"files",
               [](json& file) {
                 file["containerEdits"]["env"][0] = "VFIOGATE_CLAIM_A=ml/train;some;;";
               }},
        Forged{"names no claim",
               [](json& file) { file["containerEdits"]["env"][0] = "A=train;none;;"; }},
        Forged{"devices is no list", [](json& file) { file["devices"] = json::object(); }},
        Forged{"devices: none", [](json& file) { file["devices"] = json::array(); }},
        Forged{"devices[1].address: no order",
               [](json& file) { std::swap(file["devices"][0], file["devices"][1]); }},
        Forged{"devices",
               [](json& file) {
                 for (int i = 0; i < 40; ++i) file["devices"].push_back(file["devices"][2]);
               }},
        Forged{"devices[0] is no object", [](json& file) { file["devices"][0] = 1; }},
        Forged{"name is another's",
               [](json& file) { file["devices"][0]["name"] = file["devices"][1]["name"]; }},
        Forged{"name is another's", [](json& file) { file["devices"][0]["name"] = 1; }},
        Forged{"unknown format", [](json& file) { editsOf(file)["hooks"] = json::array(); }},
        Forged{"no deviceNodes", [](json& file) { editsOf(file).erase("deviceNodes"); }},
        Forged{"names no device",
               [](json& file) {
                 editsOf(file)["env"][0] = "VFIOGATE_DEVICE_0000_02_00_9=a/b;gpu;auto;0000:02:00.0";
               }},
        Forged{"names no device",
               [](json& file) {
                 editsOf(file, 1)["env"][0] =
                     "VFIOGATE_DEVICE_0000_3b_00_1=a/b;gpu;auto;0000:3b:00.1";
               }},
        Forged{"handles",
               [](json& file) {
                 editsOf(file)["env"][0] = std::string(kDeviceStart) + "a/b;gpu;;0000:02:00.0";
               }},
        Forged{"no address",
               [](json& file) {
                 editsOf(file)["env"][0] = std::string(kDeviceStart) + "a/b;gpu;auto;0000:02:00.0,";
               }},
        Forged{"hands",
               [](json& file) {
                 editsOf(file)["env"][0] = std::string(kDeviceStart) + "a/b;gpu;auto;0000:02:00.1";
               }},
        Forged{"resource",
               [](json& file) {
                 editsOf(file)["env"][0] = std::string(kDeviceStart) + "ab;gpu;auto;0000:02:00.0";
               }},
        Forged{"request", [](json& file) {
                 editsOf(file)["env"][0] = std::string(kDeviceStart) + "a/b;;auto;0000:02:00.0";
               }}));

}  // namespace
}  // namespace vfiogate
