#include "privd/cdi/cdi_spec.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace vfiogate {
namespace {

const ResourceName kGpu = *ResourceName::parse("vfiogate.dev/pci_10de_2684");

StaticSpecText spec() {
  return {.resource = kGpu.str(),
          .nodeSets = {{{SpecNode::Kind::kContainer, 0}, {SpecNode::Kind::kGroup, 12}},
                       {{SpecNode::Kind::kIommufd, 0}, {SpecNode::Kind::kDevice, 3}}},
          .devices = {{*Bdf::parse("0000:01:00.0"), 0}, {*Bdf::parse("0000:02:00.0"), 1}}};
}

TEST(SpecText, IsExactlyThis) {
  EXPECT_EQ(specText(kGpu, spec()),
            R"({
  "cdiVersion": "0.5.0",
  "kind": "vfiogate.dev/pci_10de_2684",
  "devices": [
    {"name": "0000:01:00.0", "containerEdits": {"deviceNodes": [{"path": "/dev/vfio/vfio", "fileMode": 438, "permissions": "rwm"}, {"path": "/dev/vfio/12", "fileMode": 384, "permissions": "rwm"}]}},
    {"name": "0000:02:00.0", "containerEdits": {"deviceNodes": [{"path": "/dev/iommu", "fileMode": 384, "permissions": "rwm"}, {"path": "/dev/vfio/devices/vfio3", "fileMode": 384, "permissions": "rwm"}]}}
  ]
}
)");
}

TEST(SpecText, IsJsonThatSaysWhatWasGiven) {
  const auto json = nlohmann::json::parse(specText(kGpu, spec()));
  EXPECT_EQ(json["cdiVersion"], "0.5.0");
  EXPECT_EQ(json["kind"], kGpu.str());
  ASSERT_EQ(json["devices"].size(), spec().devices.size());
  for (std::size_t i = 0; i < spec().devices.size(); ++i) {
    const auto& device = json["devices"][i];
    EXPECT_EQ(device["name"], spec().devices[i].address.str());
    std::vector<std::string> nodes;
    for (const auto& node : device["containerEdits"]["deviceNodes"]) nodes.push_back(node["path"]);
    EXPECT_EQ(nodes, pathsOf(spec().nodeSets[spec().devices[i].nodes]));
  }
}

TEST(SpecFileName, IsMadeOfTheHashOfTheResource) {
  // printf %s vfiogate.dev/10de_2684 | sha256sum
  EXPECT_EQ(specFileName(*ResourceName::parse("vfiogate.dev/10de_2684")),
            "vfiogate-f7ffbb832d632a20.json");
}

TEST(SpecFileName, IsKnownAgainAndNoOtherIs) {
  const std::string name = specFileName(kGpu);
  EXPECT_TRUE(isSpecFileName(name));
  EXPECT_TRUE(isSpecFileName(temporaryNameOf(name)));
  for (const char* other :
       {"vfiogate-f7ffbb832d632a2.json", "vfiogate-f7ffbb832d632a200.json",
        "vfiogate-F7FFBB832D632A20.json", "vfiogate-f7ffbb832d632a20.yaml", "vfiogate.json",
        "vfiogate-claim-f7ffbb832d632a20.json", "nvidia-f7ffbb832d632a20.json",
        "vfiogate-0b9a4a3e-7a0e-4f3c-9d6e-0d3f6e1c2b4a.json", ".vfiogate-f7ffbb832d632a20.json",
        "vfiogate-f7ffbb832d632a20.json.tmp", "", ".tmp"}) {
    EXPECT_FALSE(isSpecFileName(other)) << other;
  }
}

TEST(SpecFileName, IsWrittenUnderOneThatRuntimesDoNotRead) {
  const std::string name = temporaryNameOf("a.json");
  EXPECT_EQ(name, ".a.json.tmp");
}

}  // namespace
}  // namespace vfiogate
