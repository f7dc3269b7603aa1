#include "plugind/cli/ask.h"

#include <gmock/gmock.h>
#include <yaml-cpp/yaml.h>

namespace vfiogate {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing::Not;

json deviceOf(const std::string& model) {
  return {{"address", "0000:65:00.0"}, {"model", model}};
}

json twoResources() {
  return {{"resources",
           {{{"name", "vfiogate.dev/gpu"},
             {"kata", true},
             {"kubevirt", true},
             {"devices", {deviceOf("10de:2684"), deviceOf("10de:22ba"), deviceOf("10de:2684")}}},
            {{"name", "vfiogate.dev/nic"},
             {"kata", false},
             {"kubevirt", true},
             {"devices", {deviceOf("15b3:101e")}}}}},
          {"leftOut", json::array()}};
}

TEST(Fragment, PermitsEachModelOfEachResourceOnceInKubevirt) {
  const YAML::Node read = YAML::Load(kubevirtFragment(twoResources()));
  std::vector<std::string> rows;
  for (const YAML::Node& row : read["permittedHostDevices"]["pciHostDevices"]) {
    EXPECT_TRUE(row["externalResourceProvider"].as<bool>());
    rows.push_back(row["pciVendorSelector"].as<std::string>() + " " +
                   row["resourceName"].as<std::string>());
  }
  EXPECT_THAT(rows, testing::ElementsAre("10DE:22BA vfiogate.dev/gpu", "10DE:2684 vfiogate.dev/gpu",
                                         "15B3:101E vfiogate.dev/nic"));
}

TEST(Fragment, PermitsCompanionsThatGoAlongWithTheirCards) {
  json status = twoResources();
  status["resources"][1]["devices"] = json::array();
  status["resources"][1]["tickets"] = {
      {{"companion", "0000:65:00.1"}, {"model", "10de:22ba"}, {"card", "0000:65:00.0"}}};
  const YAML::Node rows =
      YAML::Load(kubevirtFragment(status))["permittedHostDevices"]["pciHostDevices"];
  ASSERT_EQ(rows.size(), 3U);
  EXPECT_EQ(rows[2]["pciVendorSelector"].as<std::string>(), "10DE:22BA");
  EXPECT_EQ(rows[2]["resourceName"].as<std::string>(), "vfiogate.dev/nic");
}

// A machine has an entry for each device: one of the resource, and one for each that goes along.
TEST(Fragment, PermitsFurtherDevicesAndShowsTheirEntries) {
  json status = twoResources();
  status["resources"][0]["more"] = {{"resource", "vfiogate.dev/nic"}, {"count", 2}};
  status["resources"][1]["devices"] = json::array();
  status["resources"][1]["moreOf"] = {
      {"resource", "vfiogate.dev/gpu"}, {"tickets", 4}, {"healthy", 4}};
  const std::string text = kubevirtFragment(status);
  std::vector<std::string> rows;
  for (const YAML::Node& row : YAML::Load(text)["permittedHostDevices"]["pciHostDevices"]) {
    rows.push_back(row["pciVendorSelector"].as<std::string>() + " " +
                   row["resourceName"].as<std::string>());
  }
  EXPECT_THAT(rows,
              testing::ElementsAre("10DE:22BA vfiogate.dev/gpu", "10DE:2684 vfiogate.dev/gpu",
                                   "10DE:22BA vfiogate.dev/nic", "10DE:2684 vfiogate.dev/nic"));
  EXPECT_THAT(text, HasSubstr("#     - {name: device1, deviceName: vfiogate.dev/gpu}\n"
                              "#     - {name: device2, deviceName: vfiogate.dev/nic}\n"
                              "#     - {name: device3, deviceName: vfiogate.dev/nic}\n"));
}

TEST(Fragment, PermitsMediatedDevicesByTheNamesOfTheirTypes) {
  json status = twoResources();
  const json vgpu{{"address", "3f5e2c10-0001-4a5b-8c6d-000000000001"}, {"model", "NVIDIA A16-4Q"}};
  status["resources"].push_back({{"name", "vfiogate.dev/vgpu"},
                                 {"kata", false},
                                 {"kubevirt", true},
                                 {"devices", {vgpu, vgpu}}});
  const YAML::Node permitted = YAML::Load(kubevirtFragment(status))["permittedHostDevices"];
  EXPECT_EQ(permitted["pciHostDevices"].size(), 3U);
  ASSERT_EQ(permitted["mediatedDevices"].size(), 1U);
  const YAML::Node row = permitted["mediatedDevices"][0];
  EXPECT_EQ(row["mdevNameSelector"].as<std::string>(), "NVIDIA A16-4Q");
  EXPECT_EQ(row["resourceName"].as<std::string>(), "vfiogate.dev/vgpu");
  EXPECT_TRUE(row["externalResourceProvider"].as<bool>());
  EXPECT_FALSE(
      YAML::Load(kubevirtFragment(twoResources()))["permittedHostDevices"]["mediatedDevices"]);
}

TEST(Fragment, ShowsHowAVirtualMachineAsks) {
  const std::string text = kubevirtFragment(twoResources());
  EXPECT_THAT(text, HasSubstr("{name: device1, deviceName: vfiogate.dev/gpu}"));
  EXPECT_THAT(text, HasSubstr("{name: device2, deviceName: vfiogate.dev/nic}"));
}

TEST(Fragment, LeavesOutOfKubevirtWhatHasNoVariableForIt) {
  json status = twoResources();
  status["resources"][1]["kubevirt"] = false;
  const std::string text = kubevirtFragment(status);
  EXPECT_THAT(text, HasSubstr("# vfiogate.dev/nic is not for KubeVirt"));
  EXPECT_THAT(text, Not(HasSubstr("15B3:101E")));
  EXPECT_THAT(text, Not(HasSubstr("deviceName: vfiogate.dev/nic")));
}

TEST(Fragment, LeavesOutWhatIsForClaimsOnly) {
  json status = twoResources();
  status["resources"][1]["serve"] = "dra";
  for (const std::string& text : {kubevirtFragment(status), kataFragment(status)}) {
    EXPECT_THAT(text, HasSubstr("is for claims only"));
    EXPECT_THAT(text, Not(HasSubstr("deviceName: vfiogate.dev/nic")));
    EXPECT_THAT(text, Not(HasSubstr("15B3:101E")));
  }
}

TEST(Fragment, TellsWhichResourcesKataWillNotFind) {
  const std::string text = kataFragment(twoResources());
  EXPECT_THAT(text, HasSubstr("cold_plug_vfio = \"root-port\""));
  EXPECT_THAT(text, HasSubstr("#   vfiogate.dev/gpu\n"));
  EXPECT_THAT(text, HasSubstr("#   vfiogate.dev/nic   not found by Kata: set `kata: true`"));
}

TEST(Fragment, SaysSoWhereNothingIsServed) {
  const json nothing{{"resources", json::array()}, {"leftOut", {{{"address", "0000:65:00.0"}}}}};
  for (const std::string& text : {kubevirtFragment(nothing), kataFragment(nothing)}) {
    EXPECT_THAT(text, HasSubstr("serves no resource now, and leaves 1 device out"));
    EXPECT_THAT(text, Not(HasSubstr("permittedHostDevices")));
  }
}

}  // namespace
}  // namespace vfiogate
