// Claims over a reboot, what is said of their devices' health, and how containers choose among
// them.

#include "tests/integration/dra/claim_case.h"

#include <tuple>

namespace vfiogate::test {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::Field;
using testing::HasSubstr;
using testing::SizeIs;

class DraLife : public ClaimCase {
protected:
  /// The node comes up again: /run is empty, the kubelet has its files.
  void reboot() {
    node_->kubelet.powerOff();
    node_->killPlugind();
    node_->killPrivd();
    node_->netdDra.reset();
    std::filesystem::remove_all(node_->directory("cdi"));
  }
  sim::SeenHealth health(const std::string& address) {
    return node_->kubelet.deviceHealth(kDriver, "node-1", nameOf(address));
  }
  bool healthIs(const std::string& address, const std::string& word) {
    return until([&]() { return health(address).health == word; });
  }
};

// I1: the numbers of the groups change places.
TEST_F(DraLife, I1_ARebootWritesTheSpecAnewWithTheNewNodes) {
  startAll();
  const std::string uid = claimFor("c1", "p1", {kC});
  const sim::PodStart first = run(podWith("p1", "c1"));
  ASSERT_TRUE(first.started);
  ASSERT_THAT(pathsOf(uid), ElementsAre("/dev/vfio/vfio", "/dev/vfio/8"));
  reboot();
  node_->hardware.setGroup(kC, 40);
  for (const auto& address : {kA, kB}) node_->hardware.setGroup(address, 8);
  node_->hardware.setGroup(kC, 7);
  startAll();
  const sim::PodStart again = startUntilAnswered("p1");
  ASSERT_TRUE(again.started || node_->kubelet.awaitStarted("p1")) << again.error;
  EXPECT_THAT(pathsOf(uid), ElementsAre("/dev/vfio/vfio", "/dev/vfio/7"));
  EXPECT_EQ(node_->kubelet.restartContainer("p1", "compute").cdiDevices,
            first.containers.at("compute").cdiDevices)
      << "names are the same, T29";
  claimFor("c2", "p2", {kA});
  EXPECT_TRUE(run(podWith("p2", "c2")).started) << "group 8 is other devices' now";
}

// I1: the pod's claim comes too late: what was prepared went with the reboot, and is not owed.
TEST_F(DraLife, I1_AfterARebootWhoPreparesFirstHasTheGroup) {
  startAll();
  claimFor("c1", "p1", {kA});
  ASSERT_TRUE(run(podWith("p1", "c1")).started);
  reboot();
  startAll();
  claimFor("c2", "p2", {kB});
  ASSERT_TRUE(node_->kubelet.admit(podWith("p2", "c2")).admitted);
  const sim::PodStart first = startUntilAnswered("p2");
  ASSERT_TRUE(first.started) << first.error << node_->said();
  EXPECT_THAT(node_->kubelet.startPod("p1").error, HasSubstr("group-allocated"));
  node_->kubelet.end("p2");
  EXPECT_TRUE(node_->kubelet.awaitStarted("p1"));
}

// The node's programs are away while cards are swapped; the spec on disk names nodes alone.
TEST_F(DraLife, I9_OtherHardwareIsNotPreparedAgainAfterARestart) {
  startAll();
  for (const auto& [claim, pod, address] : {std::tuple{"c1", "p1", kA}, {"c2", "p2", kC}}) {
    claimFor(claim, pod, {address});
    const sim::PodStart start = run(podWith(pod, claim));
    ASSERT_TRUE(start.started) << start.error << node_->said();
  }
  const auto restartWith = [this](std::uint16_t device) {
    node_->kubelet.stop();
    node_->killPlugind();
    node_->killPrivd();
    node_->hardware.setIds({.address = kC, .device = device});
    node_->kubelet.start();
    startPlugind();
    startPrivd();
    ASSERT_TRUE(node_->kubelet.awaitDraConnected(kDriver)) << node_->said();
    for (const char* pod : {"p1", "p2"}) node_->kubelet.loseSandbox(pod);
  };
  restartWith(0x2704);
  const sim::PodStart same = startUntilAnswered("p1");
  EXPECT_TRUE(same.started || node_->kubelet.awaitStarted("p1")) << same.error << node_->said();
  const sim::PodStart other = startUntilAnswered("p2");
  EXPECT_FALSE(other.started);
  EXPECT_THAT(other.error,
              AllOf(HasSubstr(kC + ", group 8: other hardware than was prepared is at its address: "
                                   "was 10de:2684 "),
                    HasSubstr(", is 10de:2704 "), HasSubstr("other-hardware")))
      << node_->said();
  restartWith(0x2684);
  EXPECT_TRUE(node_->kubelet.awaitStarted("p2")) << node_->said();
}

TEST_F(DraLife, AnUnpluggedDeviceIsUnhealthyInItsPodsStatus) {
  startAll();
  const std::string uid = claimFor("c1", "p1", {kC});
  ASSERT_TRUE(run(podWith("p1", "c1")).started);
  ASSERT_TRUE(healthIs(kC, "Healthy"));
  const std::size_t refreshes = node_->kubelet.statusRefreshes("p1");
  node_->hardware.remove(kC);
  ASSERT_TRUE(node_->kubelet.awaitStatusRefreshes("p1", refreshes + 1)) << node_->said();
  EXPECT_THAT(node_->kubelet.deviceStatuses("p1"),
              ElementsAre(AllOf(Field(&sim::DeviceStatus::name, "claim:gpu"),
                                Field(&sim::DeviceStatus::resourceId,
                                      std::string(kDriver) + "/claim=" + uid + "-0000-02-00-0"),
                                Field(&sim::DeviceStatus::health, "Unhealthy"),
                                Field(&sim::DeviceStatus::message, HasSubstr("gone")))));
  EXPECT_EQ(health(kA).health, "Healthy");
  // T39: its counter stays in use, and nobody new is sent to it.
  EXPECT_TRUE(devicesUntil([](const Devices& now) { return taintOf(now, nameOf(kC)) == "gone"; }));
  node_->hardware.add({.address = kC, .group = 12});
  EXPECT_TRUE(healthIs(kC, "Healthy"));
}

/// The kubelet takes the driver's 30 s for 12 s.
class DraHeartbeat : public DraLife {
  void adjust(sim::KubeletOptions& options) override {
    options.dra.times.healthSecond = std::chrono::milliseconds(400);
  }
};

TEST_F(DraHeartbeat, HealthIsSaidAgainBeforeItIsStale) {
  startAll();
  ASSERT_TRUE(healthIs(kC, "Healthy"));
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(14);
  while (std::chrono::steady_clock::now() < end) {
    ASSERT_EQ(health(kC).health, "Healthy");
    poll(nullptr, 0, 100);
  }
}

class DraBothLife : public DraLife {
  std::string keys() const override { return "serve: both"; }
};

// The kubelet gives a Prepare 45 s, and its memory alone says who has what.
TEST_F(DraBothLife, APrepareThatComesWithPlugindsStartIsGrantedWithoutARecord) {
  startAll();
  ASSERT_TRUE(node_->kubelet.await(
      kGpus, [](const auto& devices) { return devices.healthy().contains(kC); }));
  const auto held = node_->kubelet.admit(podOf("p0", kGpus));
  ASSERT_TRUE(held.admitted) << held.message << node_->said();
  node_->killPlugind();
  node_->killPrivd();
  std::filesystem::remove_all(node_->directory("state/devices"));
  claimFor("c1", "p1", {held.granted.at(0).ids.at(0) == kC ? kA : kC});
  ASSERT_TRUE(node_->kubelet.admit(podWith("p1", "c1")).admitted);
  startPrivd();
  startPlugind();
  const sim::PodStart start = startUntilAnswered("p1");
  EXPECT_TRUE(start.started) << start.error << node_->said();
  EXPECT_TRUE(node_->tells("adopted", held.granted.at(0).ids.at(0))) << node_->said();
}

/// A kubelet that knows v1beta1 alone, as before 1.34.
class DraOld : public DraLife {
  void adjust(sim::KubeletOptions& options) override {
    options.dra.services = {"v1beta1.DRAPlugin"};
  }
};

TEST_F(DraOld, T25_AKubeletOfV1beta1IsServed) {
  startAll();
  ASSERT_THAT(node_->kubelet.draInstances(kDriver), SizeIs(1));
  EXPECT_EQ(node_->kubelet.draInstances(kDriver)[0].version, "v1beta1.DRAPlugin");
  const std::string uid = claimFor("c1", "p1", {kC});
  const sim::PodStart start = run(podWith("p1", "c1"));
  ASSERT_TRUE(start.started) << start.error;
  EXPECT_THAT(start.containers.at("compute").cdiDevices,
              ElementsAre(std::string(kDriver) + "/claim=" + uid + "-0000-02-00-0"));
  claimFor("c2", "p2", {kC});
  EXPECT_THAT(run(podWith("p2", "c2")).error, HasSubstr("group-allocated"));
  node_->kubelet.end("p1");
  ASSERT_TRUE(node_->kubelet.awaitEnded("p1"));
  EXPECT_FALSE(specIsThere(uid));
}

// T31, row K32: of a prioritized list the result says "main/sub", the container "main".
TEST_F(DraLife, T31_EachContainerGetsTheDevicesOfItsRequest) {
  startAll();
  const std::string uid = api_->makeClaim(
      "c1", kDriver,
      {{.device = nameOf(kC), .request = "main/large"}, {.device = nameOf(kA), .request = "side"}});
  ASSERT_EQ(claims_->reserve("default", "c1", "p1"), "");
  sim::PodSpec pod = podWith("p1", "c1");
  pod.containers = {{.name = "main", .limits = {}, .claims = {{"gpu", "main"}}},
                    {.name = "side", .limits = {}, .claims = {{"gpu", "side"}}},
                    {.name = "all", .limits = {}, .claims = {{"gpu"}}}};
  const sim::PodStart start = run(pod);
  ASSERT_TRUE(start.started) << start.error;
  const std::string begin = std::string(kDriver) + "/claim=" + uid + "-";
  EXPECT_THAT(start.containers.at("main").cdiDevices, ElementsAre(begin + nameOf(kC)));
  EXPECT_THAT(start.containers.at("side").cdiDevices, ElementsAre(begin + nameOf(kA)));
  EXPECT_THAT(start.containers.at("all").cdiDevices, SizeIs(2));
}

class DraTemplate : public DraLife {
  std::string driverKeys() const override {
    return "driver: vfio.vfiogate.dev, metadataFiles: true";
  }
};

// KEP-5304: the file's place says the name that the claim has in the pod.
TEST_F(DraTemplate, AClaimMadeFromATemplateHasItsFileUnderThePodsName) {
  startAll();
  const auto claim = nlohmann::json::parse(R"({
    "metadata": {"name": "p1-gpu-x7k2f", "annotations": {"resource.kubernetes.io/pod-claim-name": "gpu"},
                 "ownerReferences": [{"apiVersion": "v1", "kind": "Pod", "name": "p1", "uid": "p1"}]},
    "spec": {},
    "status": {"allocation": {"devices": {"config": [], "results": [
      {"request": "main", "driver": "vfio.vfiogate.dev", "pool": "node-1", "device": "0000-02-00-0"}]}}}})");
  const std::string uid = api_->makeClaim(claim);
  ASSERT_EQ(claims_->reserve("default", "p1-gpu-x7k2f", "p1"), "");
  sim::PodSpec pod = podWith("p1", "p1-gpu-x7k2f");
  pod.claims[0].fromTemplate = true;
  const sim::PodStart start = run(pod);
  ASSERT_TRUE(start.started) << start.error;
  const auto mounts = spec(uid)["devices"][0]["containerEdits"]["mounts"];
  ASSERT_THAT(mounts, SizeIs(1));
  EXPECT_EQ(mounts[0]["containerPath"],
            "/var/run/kubernetes.io/dra-device-attributes/resourceclaimtemplates/gpu/main/"
            "vfio.vfiogate.dev-metadata.json");
  std::ifstream file(mounts[0]["hostPath"].get<std::string>());
  EXPECT_THAT(nlohmann::json::parse(file, nullptr, false).dump(), HasSubstr(kC));
}

}  // namespace
}  // namespace vfiogate::test
