#include "plugind/kubelet/calls_to_kubelet.h"

#include "proto/podresources.grpc.pb.h"

#include <memory>

namespace vfiogate {
namespace {

/// Thousands of pods; beyond it nothing is known.
constexpr int kLongestList = 64 << 20;

struct ListCall {
  std::unique_ptr<v1::PodResourcesLister::Stub> stub;
  grpc::ClientContext context;
  v1::ListPodResourcesRequest request;
  v1::ListPodResourcesResponse answer;
};

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
  const auto call = std::make_shared<ListCall>();
  call->stub = v1::PodResourcesLister::NewStub(channelOver(kj::mv(connection), kLongestList));
  call->context.set_deadline(std::chrono::system_clock::now() + kListDeadline);
  auto pair = kj::newPromiseAndCrossThreadFulfiller<grpc::Status>();
  const auto fulfiller = std::make_shared<kj::Own<kj::CrossThreadPromiseFulfiller<grpc::Status>>>(
      kj::mv(pair.fulfiller));
  call->stub->async()->List(
      &call->context, &call->request, &call->answer,
      [call, fulfiller](grpc::Status status) { (*fulfiller)->fulfill(kj::mv(status)); });
  return pair.promise
      .then([call](grpc::Status status) -> Result<PodList, std::string> {
        if (!status.ok()) return Failure{std::string(status.error_message())};
        return podListOf(call->answer);
      })
      .attach(kj::defer([call]() { call->context.TryCancel(); }));
}

}  // namespace vfiogate
