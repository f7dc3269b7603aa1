#include "privd/cdi/cdi_spec.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "privd/cdi/device_metadata.h"
#include "tests/support/played/claim_specs.h"

namespace vfiogate {
namespace {

using test::claimDevice;
using test::claimSpec;
using test::kClaimUid;

constexpr const char* kFiles = "/var/lib/kubelet/plugins/vfio.vfiogate.dev/dra-device-metadata";

/// Two devices of the request gpu and one of the request nic.
ClaimSpec three() {
  ClaimSpec spec = claimSpec({"0000:02:00.0", "0000:02:00.1"});
  spec.devices[0].hands.insert(*Bdf::parse("0000:02:00.1"));
  spec.devices.push_back(claimDevice("0000:3b:00.0", "nic"));
  spec.devices[2].backend = Backend::kIommufd;
  return spec;
}
const std::vector<std::vector<std::string>> kNodes{
    {"/dev/vfio/vfio", "/dev/vfio/8"}, {"/dev/vfio/8"}, {"/dev/vfio/devices/vfio3"}};

// The shape of a record that outlives updates: a change of it needs a reader of both.
TEST(ClaimSpecText, IsExactlyThis) {
  EXPECT_EQ(claimSpecText(claimSpec(), {kNodes[0]}, kFiles),
            R"({
  "cdiVersion": "0.5.0",
  "kind": "vfio.vfiogate.dev/claim",
  "containerEdits": {"env": ["VFIOGATE_CLAIM_C7E7B22E_239B_4498_B27C_7F1344481E14=ml/train;none;;node-1"]},
  "devices": [
    {"name": "c7e7b22e-239b-4498-b27c-7f1344481e14-0000-02-00-0", "containerEdits": {"env": ["VFIOGATE_DEVICE_0000_02_00_0=vfiogate.dev/gpu;gpu;auto;0000:02:00.0"], "deviceNodes": [{"path": "/dev/vfio/vfio", "fileMode": 438, "permissions": "rwm"}, {"path": "/dev/vfio/8", "fileMode": 384, "permissions": "rwm"}]}}
  ]
}
)");
}

TEST(ClaimSpecText, SaysWhoseNodesAreHandedOverAndHow) {
  const auto json = nlohmann::json::parse(claimSpecText(three(), kNodes, kFiles));
  const auto env = [&json](std::size_t device) {
    return json["devices"][device]["containerEdits"]["env"][0];
  };
  EXPECT_EQ(env(0),
            "VFIOGATE_DEVICE_0000_02_00_0=vfiogate.dev/gpu;gpu;auto;0000:02:00.0,0000:02:00.1");
  EXPECT_EQ(env(2), "VFIOGATE_DEVICE_0000_3B_00_0=vfiogate.dev/gpu;nic;iommufd;0000:3b:00.0");
  for (const auto& device : json["devices"]) {
    EXPECT_FALSE(device["containerEdits"].contains("mounts"));
  }
}

TEST(ClaimSpecText, ARequestsFirstDeviceMountsItsMetadata) {
  ClaimSpec spec = three();
  spec.metadata = true;
  const auto json = nlohmann::json::parse(claimSpecText(spec, kNodes, kFiles));
  const auto& devices = json["devices"];
  EXPECT_FALSE(devices[1]["containerEdits"].contains("mounts"));
  const auto& mount = devices[0]["containerEdits"]["mounts"];
  ASSERT_EQ(mount.size(), 1U);
  EXPECT_EQ(mount[0]["hostPath"],
            kFiles + std::string("/c7e7b22e-239b-4498-b27c-7f1344481e14_gpu.json"));
  EXPECT_EQ(mount[0]["containerPath"],
            "/var/run/kubernetes.io/dra-device-attributes/resourceclaims/train/gpu/"
            "vfio.vfiogate.dev-metadata.json");
  EXPECT_EQ(mount[0]["options"], nlohmann::json({"ro", "nosuid", "nodev", "bind"}));
  spec.podClaimName = "cards";
  EXPECT_EQ(
      nlohmann::json::parse(claimSpecText(
          spec, kNodes, kFiles))["devices"][2]["containerEdits"]["mounts"][0]["containerPath"],
      "/var/run/kubernetes.io/dra-device-attributes/resourceclaimtemplates/cards/nic/"
      "vfio.vfiogate.dev-metadata.json");
}

TEST(ClaimSpecText, WhatTheTwoSpecsSayTheFileNamesTellApart) {
  const std::string name = claimFileName(kClaimUid);
  EXPECT_EQ(name, "vfiogate-claim-c7e7b22e-239b-4498-b27c-7f1344481e14.json");
  EXPECT_EQ(claimUidOf(name), kClaimUid);
  EXPECT_FALSE(isSpecFileName(name));
  EXPECT_FALSE(isSpecFileName(temporaryNameOf(name)));
  for (const std::string& other :
       {temporaryNameOf(name), name + "x", "x" + name, std::string("vfiogate-claim-.json"),
        std::string("vfiogate-claim-1.json"), std::string("vfiogate-f7ffbb832d632a20.json"),
        std::string("vfiogate-claim-../../../../../../../../etc/shadow.json"), std::string()}) {
    EXPECT_EQ(claimUidOf(other), std::nullopt) << other;
  }
}

TEST(ClaimSpecText, PathsThatJsonWouldWantEscapedAreKnown) {
  EXPECT_TRUE(isPlainPath(kFiles));
  for (const char* path : {"/a\"b", "/a\\b", "/a\nb", "/\xc3\xa9", "/a\x7f"}) {
    EXPECT_FALSE(isPlainPath(path)) << path;
  }
}

TEST(DeviceMetadata, IsExactlyThis) {
  ClaimSpec spec = three();
  spec.devices[0].root = Bdf::parse("10000:3a:00.0").value();
  spec.devices[0].numaNode = 0;
  EXPECT_EQ(metadataText(spec, "gpu"),
            R"({
  "apiVersion": "metadata.resource.k8s.io/v1alpha1",
  "kind": "DeviceMetadata",
  "metadata": {"name": "train", "namespace": "ml", "uid": "c7e7b22e-239b-4498-b27c-7f1344481e14", "generation": 1},
  "requests": [{"name": "gpu", "devices": [
      {"driver": "vfio.vfiogate.dev", "pool": "node-1", "name": "0000-02-00-0", "attributes": {"resource.kubernetes.io/pciBusID": {"string": "0000:02:00.0"}, "resource.kubernetes.io/pcieRoot": {"string": "pci10000:3a"}, "numaNode": {"int": 0}}},
      {"driver": "vfio.vfiogate.dev", "pool": "node-1", "name": "0000-02-00-1", "attributes": {"resource.kubernetes.io/pciBusID": {"string": "0000:02:00.1"}}}
  ]}]
}
)");
}

TEST(DeviceMetadata, NamesThePodsClaimWhereItIsOfATemplate) {
  ClaimSpec spec = claimSpec();
  EXPECT_FALSE(nlohmann::json::parse(metadataText(spec, "gpu")).contains("podClaimName"));
  spec.podClaimName = "cards";
  EXPECT_EQ(nlohmann::json::parse(metadataText(spec, "gpu"))["podClaimName"], "cards");
}

TEST(DeviceMetadata, FilesOfAClaimAreKnownAgainAndNoOthers) {
  const std::string name = metadataFileName(kClaimUid, "gpu");
  EXPECT_TRUE(isMetadataFileOf(kClaimUid, name));
  EXPECT_TRUE(isMetadataFileOf(kClaimUid, temporaryNameOf(name)));
  EXPECT_FALSE(isMetadataFileOf(test::claimUid(1), name));
  for (const std::string& other :
       {kClaimUid, kClaimUid + "_", kClaimUid + "_.json", kClaimUid + "_a/b.json",
        kClaimUid + "_gpu.yaml", "." + name, name + ".tmp", std::string(".tmp"), std::string()}) {
    EXPECT_FALSE(isMetadataFileOf(kClaimUid, other)) << other;
  }
}

}  // namespace
}  // namespace vfiogate
