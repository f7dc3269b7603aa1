// The stand-in kubelet, PodResources: what it tells, what it keeps silent about.

#include "proto/podresources.grpc.pb.h"
#include "proto/podresources_v1alpha1.grpc.pb.h"
#include "tests/integration/kubelet/kubelet_edges.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <grpcpp/grpcpp.h>
#include <sys/inotify.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <filesystem>

namespace vfiogate::sim {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;
using testing::UnorderedElementsAre;

const PodSpec kPlain{"plain", {}, {{"c", {}}}};

KubeletOptions stoppedClock() {
  return {.dialWithin = std::chrono::milliseconds(500),
          .now = []() { return std::chrono::steady_clock::time_point(); },
          .callsAtOnce = 40};
}

class KubeletPodResources : public KubeletEdges {
protected:
  KubeletPodResources() : KubeletEdges(stoppedClock()) {}

  std::string socketDir() const { return directory_ / "pod-resources"; }
  /// A call over the socket, whatever the method.
  template <typename Request, typename Response, typename Method>
  grpc::Status call(Method method, const Request& request, Response& response) {
    grpc::ChannelArguments arguments;
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    const auto stub = v1::PodResourcesLister::NewStub(grpc::CreateCustomChannel(
        "unix:" + socketDir() + "/kubelet.sock", grpc::InsecureChannelCredentials(), arguments));
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + kPatience);
    return (stub.get()->*method)(&context, request, &response);
  }
  v1::ListPodResourcesResponse list() {
    v1::ListPodResourcesResponse response;
    const auto status =
        call(&v1::PodResourcesLister::Stub::List, v1::ListPodResourcesRequest(), response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return response;
  }
  v1alpha1::ListPodResourcesResponse oldList() {
    const auto stub = v1alpha1::PodResourcesLister::NewStub(grpc::CreateChannel(
        "unix:" + socketDir() + "/kubelet.sock", grpc::InsecureChannelCredentials()));
    grpc::ClientContext context;
    context.set_wait_for_ready(true);
    context.set_deadline(std::chrono::system_clock::now() + kPatience);
    v1alpha1::ListPodResourcesResponse response;
    const auto status = stub->List(&context, v1alpha1::ListPodResourcesRequest(), &response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return response;
  }
  grpc::Status get(const std::string& nameSpace, const std::string& name,
                   v1::GetPodResourcesResponse& response) {
    v1::GetPodResourcesRequest request;
    request.set_pod_namespace(nameSpace);
    request.set_pod_name(name);
    return call(&v1::PodResourcesLister::Stub::Get, request, response);
  }
  static std::vector<std::string> names(const v1::ListPodResourcesResponse& response) {
    std::vector<std::string> names;
    for (const auto& pod : response.pod_resources()) {
      names.push_back(pod.namespace_() + "/" + pod.name());
    }
    return names;
  }
};

TEST_F(KubeletPodResources, K22_TheSocketIsMovedIntoPlace) {
  std::filesystem::create_directory(socketDir());
  const int watch = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
  ASSERT_GE(inotify_add_watch(watch, socketDir().c_str(), IN_CREATE | IN_MOVED_TO), 0);
  kubelet_.start();
  alignas(inotify_event) std::array<char, 1024> buffer{};
  const ssize_t size = read(watch, buffer.data(), buffer.size());
  close(watch);
  std::vector<std::string> moved;
  for (ssize_t at = 0; at < size;) {
    inotify_event event{};
    std::memcpy(&event, buffer.data() + at, sizeof(event));
    const std::string name = buffer.data() + at + sizeof(event);
    if ((event.mask & IN_MOVED_TO) != 0) moved.push_back(name);
    EXPECT_FALSE((event.mask & IN_CREATE) != 0 && name == "kubelet.sock");
    at += static_cast<ssize_t>(sizeof(event) + event.len);
  }
  EXPECT_THAT(moved, ElementsAre("kubelet.sock"));
  kubelet_.stop();
  EXPECT_TRUE(std::filesystem::is_socket(socketDir() + "/kubelet.sock"))
      << "a killed one leaves it";
}

TEST_F(KubeletPodResources, K22_EachIdAndNodeHasItsOwnEntry) {
  kubelet_.start();
  const auto plugin = serve(kGpu, {"a", "b"});
  plugin->show({{"a"}, {"b", "Healthy", {0, 1}}});
  ASSERT_TRUE(kubelet_.awaitFrames(kGpu, 2));
  ASSERT_TRUE(kubelet_.admit({"uid-1", {}, {{"c", {{kGpu, 2}}}}, "pod", "space"}).admitted);
  const auto response = list();
  EXPECT_THAT(names(response), ElementsAre("space/pod"));
  std::vector<std::string> entries;
  for (const auto& devices : response.pod_resources(0).containers(0).devices()) {
    EXPECT_EQ(devices.resource_name(), kGpu);
    ASSERT_EQ(devices.device_ids_size(), 1);
    entries.push_back(
        devices.device_ids(0) +
        (devices.has_topology() ? std::to_string(devices.topology().nodes(0).id()) : ""));
  }
  EXPECT_THAT(entries, UnorderedElementsAre("a", "b0", "b1"));
  EXPECT_EQ(response.DebugString().find("uid-1"), std::string::npos);
}

TEST_F(KubeletPodResources, K22_PlainInitContainersAreLeftOut) {
  kubelet_.start();
  const auto plugin = serve(kGpu, {"a", "b"});
  const ContainerSpec sidecar{.name = "side", .limits = {{kGpu, 1}}, .sidecar = true};
  ASSERT_TRUE(kubelet_.admit({"pod", {{"init", {{kGpu, 1}}}, sidecar}, {{"app", {}}}}).admitted);
  const auto response = list();
  std::vector<std::string> containers;
  for (const auto& container : response.pod_resources(0).containers()) {
    containers.push_back(container.name());
  }
  EXPECT_THAT(containers, ElementsAre("side", "app"));
}

TEST_F(KubeletPodResources, K22_PodsWithoutDevicesAreListedAndInactiveOnesAreNot) {
  kubelet_.start();
  const auto plugin = serve(kGpu, {"a", "b"});
  ASSERT_TRUE(kubelet_.admit({"forced", {}, {{"c", {{kGpu, 1}}}}}).admitted);
  ASSERT_TRUE(kubelet_.startContainer("forced", "c").started);
  ASSERT_TRUE(kubelet_.admit({"ended", {}, {{"c", {{kGpu, 1}}}}}).admitted);
  ASSERT_TRUE(kubelet_.admit(kPlain).admitted);
  EXPECT_THAT(list().pod_resources(), SizeIs(3));
  kubelet_.forceDelete("forced");
  kubelet_.end("ended");
  EXPECT_THAT(names(list()), ElementsAre("default/plain"));
  EXPECT_THAT(kubelet_.running("forced"), SizeIs(1));
}

TEST_F(KubeletPodResources, K20_ListFreesAndTheOthersDoNot) {
  kubelet_.start();
  const auto plugin = serve(kGpu, {"a"});
  ASSERT_TRUE(kubelet_.admit({"pod", {}, {{"c", {{kGpu, 1}}}}}).admitted);
  ASSERT_TRUE(kubelet_.admit(kPlain).admitted);
  kubelet_.end("pod");
  v1::GetPodResourcesResponse got;
  EXPECT_TRUE(get("default", "plain", got).ok());
  EXPECT_THAT(kubelet_.allocated(kGpu), SizeIs(1));
  list();
  EXPECT_THAT(kubelet_.allocated(kGpu), IsEmpty());
}

TEST_F(KubeletPodResources, K20_ThePodLastAdmittedIsKeptUntilAnotherComes) {
  kubelet_.start();
  const auto plugin = serve(kGpu, {"a"});
  ASSERT_TRUE(kubelet_.admit({"pod", {}, {{"c", {{kGpu, 1}}}}}).admitted);
  kubelet_.end("pod");
  list();
  EXPECT_THAT(kubelet_.allocated(kGpu), SizeIs(1));
  ASSERT_TRUE(kubelet_.admit(kPlain).admitted);
  list();
  EXPECT_THAT(kubelet_.allocated(kGpu), IsEmpty());
}

TEST_F(KubeletPodResources, K22_WhileTheKubeletStartsTheListIsPartialAndFreesNothing) {
  kubelet_.start();
  auto plugin = serve(kGpu, {"a", "b"});
  for (const std::string uid : {"one", "two"}) {
    ASSERT_TRUE(kubelet_.admit({uid, {}, {{"c", {{kGpu, 1}}}}}).admitted);
    ASSERT_TRUE(kubelet_.startContainer(uid, "c").started);
  }
  kubelet_.restart({.sourcesReady = false});
  EXPECT_THAT(list().pod_resources(), IsEmpty());
  ASSERT_TRUE(kubelet_.admit({"one", {}, {{"c", {{kGpu, 1}}}}}).admitted);
  const auto partial = list();
  EXPECT_THAT(names(partial), ElementsAre("default/one"));
  EXPECT_THAT(partial.pod_resources(0).containers(0).devices(), SizeIs(1));
  EXPECT_THAT(kubelet_.allocated(kGpu), SizeIs(2));
  kubelet_.sourcesReady();
  list();
  EXPECT_THAT(kubelet_.allocated(kGpu), SizeIs(1)) << "the other one was not added";
}

TEST_F(KubeletPodResources, K22_GetKnowsActivePodsByName) {
  kubelet_.start();
  ASSERT_TRUE(kubelet_.admit(kPlain).admitted);
  v1::GetPodResourcesResponse response;
  ASSERT_TRUE(get("default", "plain", response).ok());
  EXPECT_EQ(response.pod_resources().name(), "plain");
  EXPECT_EQ(get("elsewhere", "plain", response).error_code(), grpc::StatusCode::UNKNOWN);
  kubelet_.end("plain");
  EXPECT_EQ(get("default", "plain", response).error_code(), grpc::StatusCode::UNKNOWN);
}

TEST_F(KubeletPodResources, K22_AllocatableIsAllThatIsHealthyGivenOrNot) {
  kubelet_.start();
  const auto plugin = serve(kGpu, {"a", "b"});
  plugin->show({{"a"}, {"b"}, {"sick", "Unhealthy"}});
  ASSERT_TRUE(kubelet_.shows(kGpu, {"a", "b"}, {"sick"}));
  ASSERT_TRUE(kubelet_.admit({"pod", {}, {{"c", {{kGpu, 1}}}}}).admitted);
  const auto ask = [this]() {
    v1::AllocatableResourcesResponse response;
    EXPECT_TRUE(call(&v1::PodResourcesLister::Stub::GetAllocatableResources,
                     v1::AllocatableResourcesRequest(), response)
                    .ok());
    return response.devices_size();
  };
  EXPECT_EQ(ask(), 2);
  plugin->endStreams();
  ASSERT_TRUE(kubelet_.shows(kGpu, {}, {"a", "b", "sick"}));
  EXPECT_EQ(ask(), 0);
}

TEST_F(KubeletPodResources, K22_TheOldListKnowsEndedPodsAndAppContainersOnly) {
  kubelet_.start();
  const auto plugin = serve(kGpu, {"a", "b"});
  ContainerSpec sidecar{.name = "side", .limits = {{kGpu, 1}}, .sidecar = true};
  ASSERT_TRUE(kubelet_.admit({"one", {sidecar}, {{"c", {{kGpu, 1}}}}}).admitted);
  ASSERT_TRUE(kubelet_.admit(kPlain).admitted);
  kubelet_.end("plain");
  auto pods = oldList();
  ASSERT_EQ(pods.pod_resources_size(), 2);
  EXPECT_EQ(pods.pod_resources(0).name(), "one");
  ASSERT_EQ(pods.pod_resources(0).containers_size(), 1);
  EXPECT_EQ(pods.pod_resources(0).containers(0).devices_size(), 1);
  EXPECT_EQ(pods.pod_resources(1).name(), "plain") << "ended and still known";
  kubelet_.forceDelete("one");
  pods = oldList();
  ASSERT_EQ(pods.pod_resources_size(), 1);
  EXPECT_THAT(kubelet_.allocated(kGpu), IsEmpty()) << "this List frees as the new one does";
}

TEST_F(KubeletPodResources, K22_BothVersionsShareTheRate) {
  kubelet_.start();
  for (int i = 0; i < 40; ++i) oldList();
  v1::GetPodResourcesResponse got;
  EXPECT_EQ(get("default", "nobody", got).error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
}

TEST_F(KubeletPodResources, K22_CallsBeyondTheRateAreRejectedWhateverTheMethod) {
  kubelet_.start();
  for (int i = 0; i < 39; ++i) list();
  v1::GetPodResourcesResponse got;
  EXPECT_EQ(get("default", "nobody", got).error_code(), grpc::StatusCode::UNKNOWN);
  const auto status = get("default", "nobody", got);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_EQ(status.error_message(), "rejected by rate limit");
}

}  // namespace
}  // namespace vfiogate::sim
