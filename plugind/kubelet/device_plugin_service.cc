#include "plugind/kubelet/device_plugin_service.h"

#include <string>
#include <utility>

namespace vfiogate {
namespace {

constexpr const char* kEnding = "vfiogate is ending";

}  // namespace

DevicePluginService::DevicePluginService(ResourceName resource, PluginEvents& events,
                                         std::shared_ptr<TaskQueue> taskQueue)
    : resource_(std::move(resource)), events_(events), taskQueue_(std::move(taskQueue)) {}

DevicePluginService::Opened DevicePluginService::options(Answering responder) {
  const bool preStart = wantsPreStart_;
  toldPreStart_ = preStart;
  v1beta1::DevicePluginOptions answer;
  answer.set_pre_start_required(preStart);
  answer.set_get_preferred_allocation_available(true);
  responder->finish(answer);
  return nullptr;
}

DevicePluginService::Opened DevicePluginService::listAndWatch(Answering responder) const {
  // Captures copies: the call may outlive this service by the time that gRPC takes to end it.
  auto ended = [resource = resource_, taskQueue = taskQueue_,
                events = &events_](const ListWatchStream& stream) {
    // Not sent: nobody is left who held the stream.
    static_cast<void>(taskQueue->post(
        [resource, events, stream = &stream]() { events->streamEnded(resource, *stream); }));
  };
  const auto stream = std::make_shared<ListWatchStream>(responder, std::move(ended));
  const bool posted = taskQueue_->post([resource = resource_, events = &events_, stream]() {
    events->streamOpened(resource, stream);
  });
  if (!posted) stream->end(grpc::Status(grpc::StatusCode::UNAVAILABLE, kEnding));
  return stream;
}

KubeletCall::Cancelled DevicePluginService::whenCancelled() const {
  return [taskQueue = taskQueue_, events = &events_](const std::shared_ptr<KubeletCall>& call) {
    // Not sent: nobody is left who would work for the call.
    static_cast<void>(taskQueue->post([events, call]() { events->callCancelled(call); }));
  };
}

DevicePluginService::Opened DevicePluginService::allocate(
    Answering responder, const v1beta1::AllocateRequest& request) const {
  if (request.container_requests_size() != 1) {
    responder->finish({grpc::StatusCode::INVALID_ARGUMENT,
                       "a kubelet asks for one container at a time, not for " +
                           std::to_string(request.container_requests_size())});
    return nullptr;
  }
  const auto call = std::make_shared<AllocateCall>(request, responder, whenCancelled());
  const bool posted = taskQueue_->post(
      [resource = resource_, events = &events_, call]() { events->allocateAsked(resource, call); });
  if (!posted && call->claim()) call->refuse(grpc::StatusCode::UNAVAILABLE, kEnding);
  return call;
}

DevicePluginService::Opened DevicePluginService::preStart(
    Answering responder, const v1beta1::PreStartContainerRequest& request) const {
  const auto call = std::make_shared<StartCall>(request, responder, whenCancelled());
  const bool posted = taskQueue_->post(
      [resource = resource_, events = &events_, call]() { events->startAsked(resource, call); });
  if (!posted && call->claim()) call->refuse(grpc::StatusCode::UNAVAILABLE, kEnding);
  return call;
}

DevicePluginService::Opened DevicePluginService::prefer(
    Answering responder, const v1beta1::PreferredAllocationRequest& request) const {
  const auto call = std::make_shared<PreferCall>(request, responder, whenCancelled());
  const bool posted = taskQueue_->post([resource = resource_, events = &events_, call]() {
    events->preferenceAsked(resource, call);
  });
  // An error would fail the pod; without an answer the kubelet has no preference.
  if (!posted && call->claim()) call->answer({});
  return call;
}

Methods methodsOf(const std::shared_ptr<DevicePluginService>& service) {
  const std::string start = "/v1beta1.DevicePlugin/";
  Methods methods;
  methods[start + "GetDevicePluginOptions"] =
      methodOf<v1beta1::Empty>([service](const auto& responder, const auto& /*request*/) {
        return service->options(responder);
      });
  methods[start + "ListAndWatch"] =
      methodOf<v1beta1::Empty>([service](const auto& responder, const auto& /*request*/) {
        return service->listAndWatch(responder);
      });
  methods[start + "Allocate"] =
      methodOf<v1beta1::AllocateRequest>([service](const auto& responder, const auto& request) {
        return service->allocate(responder, request);
      });
  methods[start + "GetPreferredAllocation"] = methodOf<v1beta1::PreferredAllocationRequest>(
      [service](const auto& responder, const auto& request) {
        return service->prefer(responder, request);
      });
  methods[start + "PreStartContainer"] = methodOf<v1beta1::PreStartContainerRequest>(
      [service](const auto& responder, const auto& request) {
        return service->preStart(responder, request);
      });
  return methods;
}

}  // namespace vfiogate
