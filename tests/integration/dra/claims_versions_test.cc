// Clusters before 1.34: one version of resource.k8s.io and a kubelet of that time, which the node's
// real programs in tests/cluster are not.

#include "tests/integration/dra/claim_case.h"

namespace vfiogate::test {
namespace {

using testing::AnyOf;
using testing::Contains;
using testing::Each;
using testing::HasSubstr;
using testing::StartsWith;

struct OldCluster {
  const char* name;
  const char* version;  ///< of resource.k8s.io
  const char* dropped;  ///< fields that it does not have, or whose gate is off
  bool countersBeside = false;
};

class OldClusters : public ClaimCase, public testing::WithParamInterface<OldCluster> {
protected:
  ApiServerOptions apiOptions() const override {
    return {.drop = GetParam().dropped,
            .serve = {GetParam().version},
            .countersBeside = GetParam().countersBeside};
  }
  std::string kubeletsVersion() const override { return GetParam().version; }
  void adjust(sim::KubeletOptions& options) override {
    options.dra.services = {"v1beta1.DRAPlugin"};
  }
  std::string keys() const override { return "serve: both"; }
  /// What netd was answered of the API's group, but for what was not there.
  std::vector<std::string> spoken() {
    std::vector<std::string> paths;
    for (const auto& entry : api_->journal()) {
      const auto path = entry.at("path").get<std::string>();
      const auto agent = entry.at("userAgent").get<std::string>();
      if (!agent.starts_with("vfiogate-netd/") || entry.at("status") == 404) continue;
      if (path.starts_with("/apis/")) paths.push_back(path);
    }
    return paths;
  }
};

TEST_P(OldClusters, FromClaimToRunningPodAndBack) {
  startAll(2);
  const std::string version = GetParam().version;
  const Devices pool = devices();
  EXPECT_TRUE(pool.contains(nameOf(kC)));
  EXPECT_NE(pool.contains(nameOf(kA)), pool.contains(nameOf(kB)))
      << "no counters: one device of each group";
  const std::string uid = claimFor("c1", "p1", {kC});
  const sim::PodStart start = run(podWith("p1", "c1"));
  ASSERT_TRUE(start.started) << start.error << node_->said();
  EXPECT_THAT(pathsOf(uid), Contains("/dev/vfio/8"));
  EXPECT_TRUE(until([this]() {
    const auto told = api_->claim("c1").value("/status/devices"_json_pointer, nlohmann::json());
    return told.is_array() && !told.empty();
  }));
  EXPECT_TRUE(node_->netdDra->says("version=resource.k8s.io/" + version)) << node_->said();
  node_->kubelet.end("p1");
  ASSERT_TRUE(node_->kubelet.awaitEnded("p1"));
  EXPECT_FALSE(specIsThere(uid));
  const std::string group = "/apis/resource.k8s.io/" + version;
  EXPECT_THAT(spoken(), Each(AnyOf(group, StartsWith(group + "/"))));
}

// I1: what the device plugin allocated is seen by the scheduler as far as the server lets it.
TEST_P(OldClusters, I1_WhatThePluginAllocatedIsNotOfferedToClaims) {
  startAll(2);
  ASSERT_TRUE(node_->kubelet.await(
      kGpus, [](const auto& devices) { return devices.healthy().contains(kC); }));
  ASSERT_TRUE(node_->kubelet.admit(podOf("p1", kGpus, 2)).admitted);
  EXPECT_TRUE(devicesUntil([](const Devices& now) {
    return !now.contains(nameOf(kC)) || taintOf(now, nameOf(kC)) == "allocated";
  })) << node_->said();
  claimFor("c1", "p2", {kC});
  EXPECT_THAT(run(podWith("p2", "c1")).error, HasSubstr("device plugin"));
}

INSTANTIATE_TEST_SUITE_P(Of, OldClusters,
                         testing::Values(OldCluster{"Kubernetes132", "v1beta1", "counters,taints"},
                                         OldCluster{"Kubernetes133", "v1beta2", "counters,taints"},
                                         OldCluster{"Kubernetes133WithItsGatesOn", "v1beta2", "",
                                                    true},
                                         OldCluster{"Kubernetes134WithItsGatesOn", "v1", "", true}),
                         [](const auto& cluster) { return cluster.param.name; });

class UpgradedCluster : public ClaimCase {
protected:
  ApiServerOptions apiOptions() const override { return {.serve = {"v1beta1"}}; }
  std::string kubeletsVersion() const override { return "v1beta1"; }
};

// As when the API servers of a cluster are replaced one after another.
TEST_F(UpgradedCluster, WhatIsServedInItsPlaceIsSpokenFromThenOn) {
  startAll();
  const auto before = api_->slices();
  const std::string uid = claimFor("c1", "p1", {kC});
  remember("c1");
  std::size_t told = 1;  // of v1beta1, whose name begins as that of v1
  for (const char* version : {"v1beta2", "v1"}) {
    api_->control({{"serve", {version}}, {"endWatches", true}});
    const std::string line = std::string("version=resource.k8s.io/") + version;
    EXPECT_TRUE(node_->netdDra->saysAll({"version=resource.k8s.io/v1"}, ++told)) << node_->said();
    EXPECT_TRUE(node_->netdDra->says(line)) << node_->said();
  }
  EXPECT_EQ(api_->slices(), before) << "nothing is written";
  ASSERT_TRUE(run(podWith("p1", "c1")).started) << node_->said();
  EXPECT_TRUE(specIsThere(uid));
  api_->ask("DELETE", "/apis/resource.k8s.io/v1/resourceslices");
  EXPECT_TRUE(devicesUntil([](const Devices& now) { return now.size() == 3; })) << node_->said();
}

}  // namespace
}  // namespace vfiogate::test
