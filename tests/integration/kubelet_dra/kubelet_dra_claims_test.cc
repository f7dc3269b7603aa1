// The stand-in kubelet, DRA: what becomes of a claim's devices once they are prepared.

#include "tests/integration/kubelet_dra/kubelet_dra.h"

#include "proto/podresources.grpc.pb.h"

#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>

#include <tuple>

namespace vfiogate::sim {
namespace {

using testing::ElementsAre;
using testing::SizeIs;

class KubeletDraClaims : public KubeletDra {};

std::vector<std::string> namesOf(const v1::ClaimResource& resource) {
  std::vector<std::string> names;
  for (const auto& device : resource.cdi_devices()) names.push_back(device.name());
  return names;
}

TEST_F(KubeletDraClaims, K22_PodResourcesListsAllDevicesOfAClaim) {
  start();
  serve().onPrepare([](const TinyDra::Call&) {
    return TinyDra::Answer{
        {{"uid-a",
          {{{.requests = {"main"}, .device = "d", .cdiDevices = {"v/c=d"}, .shareId = "s"},
            {.requests = {"other"}, .device = "e", .cdiDevices = {"v/c=e"}}}}}}};
  });
  allocate("a", {"p"});
  PodSpec asking = pod("p", {"a"});
  asking.containers[0].claims[0].request = "main";
  asking.containers.push_back({.name = "idle", .limits = {}});
  ASSERT_TRUE(run(asking).started);
  const auto stub = v1::PodResourcesLister::NewStub(grpc::CreateChannel(
      "unix:" + (dir_ / "pod-resources/kubelet.sock"), grpc::InsecureChannelCredentials()));
  grpc::ClientContext context;
  v1::ListPodResourcesResponse response;
  ASSERT_TRUE(stub->List(&context, {}, &response).ok());
  ASSERT_THAT(response.pod_resources(), SizeIs(1));
  const auto& containers = response.pod_resources(0).containers();
  ASSERT_THAT(containers, SizeIs(2));
  EXPECT_THAT(containers[1].dynamic_resources(), SizeIs(0)) << "it refers to no claim";
  ASSERT_THAT(containers[0].dynamic_resources(), SizeIs(1));
  const v1::DynamicResource& claim = containers[0].dynamic_resources(0);
  EXPECT_EQ(claim.claim_namespace() + "/" + claim.claim_name(), "default/a");
  ASSERT_THAT(claim.claim_resources(), SizeIs(2)) << "of all requests";
  EXPECT_EQ(claim.claim_resources(0).driver_name(), kDriver);
  EXPECT_EQ(claim.claim_resources(0).pool_name(), "pool");
  EXPECT_EQ(claim.claim_resources(0).device_name(), "d");
  EXPECT_EQ(claim.claim_resources(0).share_id(), "s");
  EXPECT_THAT(namesOf(claim.claim_resources(0)), ElementsAre("v/c=d"));
  EXPECT_THAT(namesOf(claim.claim_resources(1)), ElementsAre("v/c=d", "v/c=e")) << "they pile up";
}

/// What a container gets that asks for `request` of a claim whose device the driver calls `names`.
class KubeletDraSelection
    : public KubeletDra,
      public testing::WithParamInterface<std::tuple<std::string, std::vector<std::string>, bool>> {
};

TEST_P(KubeletDraSelection, K32_DevicesAreChosenByTheNameOfTheRequest) {
  const auto& [request, names, gets] = GetParam();
  start();
  serve().onPrepare([given = names](const TinyDra::Call&) {
    return TinyDra::Answer{
        {{"uid-a", {{{.requests = given, .device = "d", .cdiDevices = {"v/c=d"}}}}}}};
  });
  allocate("a", {"p"});
  PodSpec asking = pod("p", {"a"});
  asking.containers[0].claims[0].request = request;
  const PodStart started = run(asking);
  ASSERT_TRUE(started.started) << "also if it gets nothing: " << started.error;
  EXPECT_EQ(started.containers.at("c").cdiDevices,
            gets ? std::vector<std::string>{"v/c=d"} : std::vector<std::string>());
}

using Names = std::vector<std::string>;
INSTANTIATE_TEST_SUITE_P(K32, KubeletDraSelection,
                         testing::Values(std::tuple("", Names{"main"}, true),
                                         std::tuple("main", Names{"main"}, true),
                                         std::tuple("main", Names{}, true),
                                         std::tuple("main", Names{"other"}, false),
                                         std::tuple("main", Names{"other", "main"}, true),
                                         std::tuple("main", Names{"main/sub"}, false),
                                         std::tuple("", Names{"main/sub"}, true)));

}  // namespace
}  // namespace vfiogate::sim
