#include "sim/kubelet_program/manifest.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace vfiogate::sim {
namespace {

using testing::HasSubstr;
using testing::SizeIs;

const std::string kHead = "apiVersion: v1\nkind: Pod\nmetadata: {name: vm}\n";

std::string errorOf(const std::string& yaml) {
  const auto pods = parseManifest(yaml);
  if (pods) return "";
  return std::to_string(pods.error().line) + ": " + pods.error().why;
}

TEST(Manifest, ReadsNamesContainersAndLimits) {
  const auto pods = parseManifest(R"(apiVersion: v1
kind: Pod
metadata: {name: vm, namespace: lab, uid: u-1, labels: {a: b}}
spec:
  initContainers:
  - {name: init, image: x, resources: {limits: {example.com/gpu: 1}}}
  - {name: side, restartPolicy: Always}
  containers:
  - name: app
    command: [sleep, "1"]
    resources:
      limits: {cpu: 100m, memory: 1Gi, example.com/gpu: "2"}
      requests: {cpu: 50m, example.com/gpu: 2}
---
apiVersion: v1
kind: Pod
metadata: {name: other}
spec: {containers: [{name: c}]}
)");
  ASSERT_TRUE(pods);
  ASSERT_THAT(pods->pods, SizeIs(2));
  const PodSpec& pod = pods->pods.at(0);
  EXPECT_EQ(pod.nameSpace + "/" + pod.name + " " + pod.uid, "lab/vm u-1");
  ASSERT_THAT(pod.initContainers, SizeIs(2));
  EXPECT_FALSE(pod.initContainers[0].sidecar);
  EXPECT_TRUE(pod.initContainers[1].sidecar);
  EXPECT_EQ(pod.containers.at(0).limits,
            (std::map<std::string, std::size_t>{{"example.com/gpu", 2}}));
  EXPECT_EQ(pods->pods.at(1).nameSpace, "default");
}

TEST(Manifest, ReadsClaimsAndWhoUsesThem) {
  const auto manifest = parseManifest(R"(apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: a, namespace: lab, uid: u}
spec: {devices: {requests: []}}
status:
  allocation:
    devices:
      results:
      - {request: main, driver: d, pool: p, device: x}
      - {request: more, driver: d, pool: p, device: x, shareID: s}
---
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: open}
---
apiVersion: v1
kind: Pod
metadata: {name: vm}
spec:
  resourceClaims: [{name: card, resourceClaimName: a}]
  containers: [{name: c, resources: {claims: [{name: card}, {name: card, request: main}]}}]
)");
  ASSERT_TRUE(manifest);
  ASSERT_THAT(manifest->claims, SizeIs(2));
  const ResourceClaim& claim = manifest->claims[0];
  EXPECT_EQ(claim.nameSpace + "/" + claim.name + " " + claim.uid, "lab/a u");
  EXPECT_TRUE(claim.allocated);
  EXPECT_EQ(claim.results,
            (std::vector<AllocationResult>{{"main", "d", "p", "x"}, {"more", "d", "p", "x", "s"}}));
  EXPECT_FALSE(manifest->claims[1].allocated);
  const PodSpec& pod = manifest->pods.at(0);
  ASSERT_THAT(pod.claims, SizeIs(1));
  EXPECT_EQ(pod.claims[0].name + " " + pod.claims[0].claim, "card a");
  ASSERT_THAT(pod.containers[0].claims, SizeIs(2));
  EXPECT_EQ(pod.containers[0].claims[0].request, "");
  EXPECT_EQ(pod.containers[0].claims[1].request, "main");
}

TEST(Manifest, RefusesWithLineAndReason) {
  EXPECT_THAT(errorOf("apiVersion: resource.k8s.io/v1\nkind: ResourceClaim\nmetadata: {name: a}\n"
                      "status: {allocation: {devices: {results: [{request: r}]}}}\n"),
              HasSubstr("4: driver is missing"));
  EXPECT_THAT(errorOf(""), HasSubstr("no pod"));
  EXPECT_THAT(errorOf("a: [\n"), HasSubstr(": "));
  EXPECT_THAT(errorOf("apiVersion: v1\nkind: Deployment\n"), HasSubstr("2: kind must be Pod"));
  EXPECT_THAT(errorOf(kHead), HasSubstr("spec is missing"));
  EXPECT_THAT(errorOf(kHead + "spec: {}\n"), HasSubstr("no container"));
  EXPECT_THAT(errorOf(kHead + "spec:\n  volumes: []\n"),
              HasSubstr("5: \"volumes\" is no key of spec"));
  EXPECT_THAT(errorOf(kHead + "spec: {containers: [{name: a}, {name: a}]}\n"),
              HasSubstr("two containers"));
  EXPECT_THAT(errorOf(kHead + "spec:\n  containers:\n  - name: c\n    resources:\n"
                              "      limits:\n        gpu: 1\n"),
              HasSubstr("9: \"gpu\" is no extended resource"));
  EXPECT_THAT(errorOf(kHead + "spec:\n  containers:\n  - name: c\n    resources:\n"
                              "      limits: {example.com/gpu: one}\n"),
              HasSubstr("8: "));
  EXPECT_THAT(errorOf(kHead + "spec:\n  containers:\n  - name: c\n    resources:\n"
                              "      requests: {example.com/gpu: 1}\n"),
              HasSubstr("must be its limit"));
}

}  // namespace
}  // namespace vfiogate::sim
