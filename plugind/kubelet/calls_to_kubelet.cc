#include "plugind/kubelet/calls_to_kubelet.h"

#include "plugind/rpc/client_call.h"
#include "proto/deviceplugin.pb.h"
#include "proto/podresources.pb.h"

#include <memory>

namespace vfiogate {
namespace {

/// Thousands of pods; beyond it nothing is known.
constexpr int kLongestList = 64 << 20;
/// Register answers with nothing.
constexpr int kLongestAnswer = 4096;

}  // namespace

PodList podListOf(const v1::ListPodResourcesResponse& answer) {
  PodList list;
  for (const auto& pod : answer.pod_resources()) {
    list.pods.insert(pod.namespace_() + "/" + pod.name());
    for (const auto& container : pod.containers()) {
      for (const auto& devices : container.devices()) {  // one id an entry
        ListedDevices listed{.podNamespace = pod.namespace_(),
                             .podName = pod.name(),
                             .container = container.name(),
                             .resource = devices.resource_name(),
                             .ids = {devices.device_ids().begin(), devices.device_ids().end()}};
        list.devices.push_back(std::move(listed));
      }
    }
  }
  return list;
}

kj::Promise<Result<PodList, std::string>> listPods(kj::AutoCloseFd connection) {
  const auto answer = std::make_shared<v1::ListPodResourcesResponse>();
  const v1::ListPodResourcesRequest request;
  return callOver(kj::mv(connection), {.path = "/v1.PodResourcesLister/List",
                                       .request = request,
                                       .answer = answer,
                                       .longestAnswer = kLongestList,
                                       .deadline = kListDeadline})
      .then([answer](const grpc::Status& status) -> Result<PodList, std::string> {
        if (!status.ok()) return Failure{std::string(status.error_message())};
        return podListOf(*answer);
      });
}

kj::Promise<grpc::Status> registerWithKubelet(kj::AutoCloseFd connection,
                                              const ResourceName& resource,
                                              const std::string& endpoint) {
  v1beta1::RegisterRequest request;
  request.set_version("v1beta1");
  request.set_endpoint(endpoint);
  request.set_resource_name(resource.str());
  return callOver(kj::mv(connection), {.path = "/v1beta1.Registration/Register",
                                       .request = request,
                                       .answer = std::make_shared<v1beta1::Empty>(),
                                       .longestAnswer = kLongestAnswer,
                                       .deadline = kRegisterDeadline});
}

}  // namespace vfiogate
