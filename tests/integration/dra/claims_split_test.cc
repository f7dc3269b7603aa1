// Claims through the three real programs: prepared, held, given back, published.

#include "tests/integration/dra/claim_case.h"
#include "tests/support/seen/network_sockets.h"

namespace vfiogate::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;

std::vector<std::string> nodesOf(const nlohmann::json& spec) {
  std::vector<std::string> nodes;
  for (const auto& device : spec.value("devices", nlohmann::json::array())) {
    for (const auto& node : device.at("containerEdits").at("deviceNodes")) {
      nodes.push_back(node.at("path"));
    }
  }
  return nodes;
}

class Dra : public ClaimCase {};

TEST_F(Dra, APodWithAClaimGetsItsDevice) {
  startAll();
  const std::string uid = claimFor("c1", "p1", {kC});
  const sim::PodStart start = run(podWith("p1", "c1"));
  ASSERT_TRUE(start.started) << start.error;
  EXPECT_THAT(start.containers.at("compute").cdiDevices,
              ElementsAre(std::string(kDriver) + "/claim=" + uid + "-0000-02-00-0"));
  EXPECT_THAT(nodesOf(spec(uid)), ElementsAre("/dev/vfio/vfio", "/dev/vfio/8"));
  // A claim's own device is not tainted, and nothing unpublished.
  EXPECT_EQ(taintOf(devices(), "0000-02-00-0"), "");
  EXPECT_TRUE(until([this]() {
    const auto status = api_->claim("c1").value("/status/devices"_json_pointer, nlohmann::json());
    return status.is_array() && !status.empty();
  }));
  node_->kubelet.end("p1");
  ASSERT_TRUE(node_->kubelet.awaitEnded("p1"));
  EXPECT_FALSE(specIsThere(uid));
}

// What the API server says comes by way of netd, as RPC messages.
TEST_F(Dra, NoPacketReachesPlugind) {
  startAll();
  claimFor("c1", "p1", {kC});
  ASSERT_TRUE(run(podWith("p1", "c1")).started);
  EXPECT_THAT(networkSocketsOf(node_->plugind->pid()), testing::IsEmpty());
  EXPECT_THAT(networkSocketsOf(node_->netdDra->pid()),
              testing::Contains(testing::StartsWith("tcp ")));
}

TEST_F(Dra, TheNodesPoolIsPublished) {
  startAll();
  const Devices pool = devices();
  ASSERT_THAT(pool, SizeIs(3));
  const auto& attributes = pool.at("0000-01-00-0").at("attributes");
  EXPECT_EQ(attributes.at("resource.kubernetes.io/pciBusID").at("string"), kA);
  EXPECT_EQ(attributes.at("productName").at("string"), "AD102 [GeForce RTX 4090]");
  // Both functions of a group consume one counter: the scheduler cannot split it.
  EXPECT_EQ(pool.at("0000-01-00-0").at("consumesCounters"),
            pool.at("0000-01-00-1").at("consumesCounters"));
  EXPECT_NE(pool.at("0000-01-00-0").at("consumesCounters"),
            pool.at("0000-02-00-0").at("consumesCounters"));
}

// T26, I1: the pod is gone for the kubelet, its VM is not.
TEST_F(Dra, T26_UnprepareOfAnOpenDeviceIsRetriedUntilItIsClosed) {
  startAll();
  const std::string uid = claimFor("c1", "p1", {kC});
  ASSERT_TRUE(run(podWith("p1", "c1")).started);
  node_->hardware.setEnable(kC, 1);
  node_->kubelet.end("p1");
  EXPECT_TRUE(until([this]() {
    const auto events = node_->kubelet.podEvents("p1");
    return node_->plugind->output().find("still-open") != std::string::npos;
  }));
  EXPECT_TRUE(node_->kubelet.isTerminating("p1"));
  EXPECT_TRUE(specIsThere(uid));
  claimFor("c2", "p2", {kC});
  const sim::PodStart second = run(podWith("p2", "c2"));
  EXPECT_FALSE(second.started);
  EXPECT_THAT(second.error, HasSubstr("group-allocated"));
  node_->hardware.setEnable(kC, 0);
  ASSERT_TRUE(node_->kubelet.awaitEnded("p1"));
  EXPECT_FALSE(specIsThere(uid));
  EXPECT_TRUE(node_->kubelet.awaitStarted("p2"));
}

// I1: two claims on two functions of one group.
TEST_F(Dra, I1_AGroupIsNotSplitBetweenClaims) {
  startAll();
  claimFor("c1", "p1", {kA});
  ASSERT_TRUE(run(podWith("p1", "c1")).started);
  claimFor("c2", "p2", {kB});
  const sim::PodStart second = run(podWith("p2", "c2"));
  EXPECT_FALSE(second.started);
  EXPECT_THAT(second.error, HasSubstr("group-allocated"));
  EXPECT_THAT(second.error, HasSubstr("DRA"));
}

TEST_F(Dra, AdminAccessIsRefusedWithItsReason) {
  startAll();
  api_->makeClaim("c1", kDriver, {{.device = nameOf(kC), .adminAccess = true}});
  ASSERT_EQ(claims_->reserve("default", "c1", "p1"), "");
  const sim::PodStart start = run(podWith("p1", "c1"));
  EXPECT_FALSE(start.started);
  EXPECT_THAT(start.error, HasSubstr("adminAccess"));
}

TEST_F(Dra, ABadParameterFailsThePrepareWithItsName) {
  startAll();
  const auto config = nlohmann::json::parse(
      R"([{"source": "FromClaim", "requests": [], "opaque": {"driver": "vfio.vfiogate.dev",
           "parameters": {"apiVersion": "vfio.vfiogate.dev/v1alpha1", "kind": "DeviceConfig",
                          "vfio": "quick"}}}])");
  claimFor("c1", "p1", {kC}, config);
  const sim::PodStart start = run(podWith("p1", "c1"));
  EXPECT_FALSE(start.started);
  EXPECT_THAT(start.error, HasSubstr("parameters.vfio"));
}

// T27, T29, K28: the kubelet forgets that it prepared, the answer stays the same.
TEST_F(Dra, T27_T29_AKubeletThatRestartsGetsTheSameAnswer) {
  startAll();
  const std::string uid = claimFor("c1", "p1", {kC});
  const sim::PodStart first = run(podWith("p1", "c1"));
  ASSERT_TRUE(first.started) << first.error;
  node_->hardware.setEnable(kC, 1);
  node_->kubelet.restart();
  ASSERT_TRUE(node_->kubelet.awaitDraConnected(kDriver));
  node_->kubelet.loseSandbox("p1");
  const sim::PodStart again = node_->kubelet.startPod("p1");
  ASSERT_TRUE(again.started) << again.error;
  EXPECT_EQ(again.containers.at("compute").cdiDevices, first.containers.at("compute").cdiDevices);
  EXPECT_TRUE(specIsThere(uid));
}

// T30: the kubelet takes the slices away when it starts.
TEST_F(Dra, T30_SlicesAreThereAgainAfterTheKubeletsWipe) {
  startAll();
  const auto before = devices();
  node_->kubelet.restart();
  EXPECT_TRUE(devicesUntil([&before](const Devices& now) { return now == before; }));
  ASSERT_TRUE(node_->kubelet.awaitDraConnected(kDriver));
}

TEST_F(Dra, ASteadyNodeWritesNothing) {
  startAll();
  const auto writes = [this]() {
    std::size_t count = 0;
    for (const char* method : {"POST", "PUT", "PATCH", "DELETE"}) {
      count += api_->asked(std::string(method) + " /apis/resource.k8s.io/v1/resourceslices");
    }
    return count;
  };
  const std::size_t before = writes();
  // Several rescans of privd's, one a second.
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(node_->privd->saysAll({"event="}, 1));
  poll(nullptr, 0, 3000);
  EXPECT_EQ(writes(), before);
}

class DraBoth : public ClaimCase {
  std::string keys() const override { return "serve: both"; }
};

// T36, I1: allocated through the device plugin, it leaves the scheduler's sight, and a claim that
// was allocated before is told by which path.
TEST_F(DraBoth, T36_WhatThePluginAllocatedIsTaintedAndRefusedByName) {
  startAll();
  ASSERT_TRUE(node_->kubelet.await(kGpus, [](const auto& devices) {
    return devices.healthy().contains(kA) && devices.healthy().contains(kC);
  }));
  ASSERT_TRUE(node_->kubelet.admit(podOf("p1", kGpus, 2)).admitted);
  EXPECT_TRUE(devicesUntil([](const Devices& now) {
    return taintOf(now, "0000-02-00-0") == "allocated" &&
           taintOf(now, "0000-01-00-1") == "allocated";
  }));
  claimFor("c1", "p2", {kC});
  const sim::PodStart start = run(podWith("p2", "c1"));
  EXPECT_FALSE(start.started);
  EXPECT_THAT(start.error, HasSubstr("device plugin"));
}

// T36, I1: the other way round.
TEST_F(DraBoth, T36_WhatAClaimHasLeavesTheDevicePlugin) {
  startAll();
  claimFor("c1", "p1", {kC});
  ASSERT_TRUE(run(podWith("p1", "c1")).started);
  EXPECT_TRUE(node_->kubelet.await(
      kGpus, [](const auto& devices) { return !devices.healthy().contains(kC); }));
  std::string error;
  node_->kubelet.offer(kGpus, {kC}, error);
  EXPECT_THAT(error, HasSubstr("DRA"));
}

class DraMetadata : public ClaimCase {
  std::string driverKeys() const override {
    return "driver: vfio.vfiogate.dev, metadataFiles: true";
  }
  void layOut(FakeSysfs& hardware) override {
    hardware.add({.address = kC, .group = 8, .numaNode = 1});
  }
};

TEST_F(DraMetadata, KubeVirtFindsTheAddressOfEachRequest) {
  startAll(1);
  const std::string uid = claimFor("c1", "p1", {kC});
  ASSERT_TRUE(run(podWith("p1", "c1")).started);
  const auto mounts = spec(uid)["devices"][0]["containerEdits"]["mounts"];
  ASSERT_THAT(mounts, SizeIs(1));
  EXPECT_EQ(mounts[0]["containerPath"],
            "/var/run/kubernetes.io/dra-device-attributes/resourceclaims/c1/main/"
            "vfio.vfiogate.dev-metadata.json");
  std::ifstream file(mounts[0]["hostPath"].get<std::string>());
  const auto metadata = nlohmann::json::parse(file, nullptr, false);
  const auto attributes = metadata["requests"][0]["devices"][0]["attributes"];
  EXPECT_EQ(attributes["resource.kubernetes.io/pciBusID"]["string"], kC);
  EXPECT_EQ(attributes["resource.kubernetes.io/pcieRoot"]["string"], "pci0000:00");
  EXPECT_EQ(attributes["numaNode"]["int"], 1);
  EXPECT_EQ(metadata["requests"][0]["devices"][0]["pool"], "node-1");
  node_->kubelet.end("p1");
  ASSERT_TRUE(node_->kubelet.awaitEnded("p1"));
  EXPECT_FALSE(std::filesystem::exists(mounts[0]["hostPath"].get<std::string>()));
}

/// Which program is killed and started anew.
class DraRestart : public ClaimCase, public testing::WithParamInterface<const char*> {
protected:
  void restart() {
    const std::string program = GetParam();
    if (program == "privd") {
      node_->killPrivd();
      startPrivd();
    } else if (program == "plugind") {
      node_->killPlugind();
      startPlugind();
    } else {
      node_->netdDra.reset();
      startNetd();
    }
    ASSERT_TRUE(node_->kubelet.awaitDraConnected(kDriver)) << node_->said();
  }
};

// I1: between any two steps of a claim's life.
TEST_P(DraRestart, I1_AClaimLivesOverTheRestartOfEachProgram) {
  startAll();
  restart();
  const std::string uid = claimFor("c1", "p1", {kA});
  const sim::PodStart first = run(podWith("p1", "c1"));
  if (!first.started) {
    ASSERT_TRUE(node_->kubelet.awaitStarted("p1")) << first.error;
  }
  node_->hardware.setEnable(kA, 1);
  restart();
  EXPECT_TRUE(specIsThere(uid));
  claimFor("c2", "p2", {kB});
  EXPECT_FALSE(run(podWith("p2", "c2")).started) << "the group is c1's";
  node_->hardware.setEnable(kA, 0);
  restart();
  node_->kubelet.end("p1");
  ASSERT_TRUE(node_->kubelet.awaitEnded("p1"));
  EXPECT_FALSE(specIsThere(uid));
  EXPECT_TRUE(node_->kubelet.awaitStarted("p2"));
  EXPECT_TRUE(devicesUntil([](const Devices& now) { return now.size() == 3; }));
}
INSTANTIATE_TEST_SUITE_P(Of, DraRestart, testing::Values("privd", "plugind", "netd"),
                         [](const auto& program) { return std::string(program.param); });

}  // namespace
}  // namespace vfiogate::test
