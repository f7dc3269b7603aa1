#include "plugind/kubelet/device_plugin_service.h"

#include <utility>

namespace vfiogate {
namespace {

constexpr const char* kEnding = "vfiogate is ending";

}  // namespace

DevicePluginService::DevicePluginService(ResourceName resource, PluginEvents& events,
                                         std::shared_ptr<TaskQueue> taskQueue)
    : resource_(std::move(resource)), events_(events), taskQueue_(std::move(taskQueue)) {}

grpc::ServerUnaryReactor* DevicePluginService::GetDevicePluginOptions(
    grpc::CallbackServerContext* context, const v1beta1::Empty* /*request*/,
    v1beta1::DevicePluginOptions* answer) {
  const bool preStart = wantsPreStart_;
  toldPreStart_ = preStart;
  answer->set_pre_start_required(preStart);
  answer->set_get_preferred_allocation_available(true);
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  reactor->Finish(grpc::Status::OK);
  return reactor;
}

grpc::ServerWriteReactor<v1beta1::ListAndWatchResponse>* DevicePluginService::ListAndWatch(
    grpc::CallbackServerContext* /*context*/, const v1beta1::Empty* /*request*/) {
  // Captures copies: the call may outlive this service by the time that gRPC takes to end it.
  auto ended = [resource = resource_, taskQueue = taskQueue_,
                events = &events_](const ListWatchStream& stream) {
    // Not sent: nobody is left who held the stream.
    static_cast<void>(taskQueue->post(
        [resource, events, stream = &stream]() { events->streamEnded(resource, *stream); }));
  };
  const auto stream = ListWatchStream::open(std::move(ended));
  const bool posted = taskQueue_->post([resource = resource_, events = &events_, stream]() {
    events->streamOpened(resource, stream);
  });
  if (!posted) stream->end(grpc::Status(grpc::StatusCode::UNAVAILABLE, kEnding));
  return stream.get();
}

KubeletCall::Cancelled DevicePluginService::whenCancelled() const {
  return [taskQueue = taskQueue_, events = &events_](const std::shared_ptr<KubeletCall>& call) {
    // Not sent: nobody is left who would work for the call.
    static_cast<void>(taskQueue->post([events, call]() { events->callCancelled(call); }));
  };
}

grpc::ServerUnaryReactor* DevicePluginService::Allocate(grpc::CallbackServerContext* /*context*/,
                                                        const v1beta1::AllocateRequest* request,
                                                        v1beta1::AllocateResponse* answer) {
  const auto call = AllocateCall::open(*request, *answer, whenCancelled());
  if (request->container_requests_size() != 1) {
    if (call->claim()) {
      call->refuse(grpc::StatusCode::INVALID_ARGUMENT,
                   "a kubelet asks for one container at a time, not for " +
                       std::to_string(request->container_requests_size()));
    }
    return call.get();
  }
  const bool posted = taskQueue_->post(
      [resource = resource_, events = &events_, call]() { events->allocateAsked(resource, call); });
  if (!posted && call->claim()) call->refuse(grpc::StatusCode::UNAVAILABLE, kEnding);
  return call.get();
}

grpc::ServerUnaryReactor* DevicePluginService::PreStartContainer(
    grpc::CallbackServerContext* /*context*/, const v1beta1::PreStartContainerRequest* request,
    v1beta1::PreStartContainerResponse* /*answer*/) {
  const auto call = StartCall::open(*request, whenCancelled());
  const bool posted = taskQueue_->post(
      [resource = resource_, events = &events_, call]() { events->startAsked(resource, call); });
  if (!posted && call->claim()) call->refuse(grpc::StatusCode::UNAVAILABLE, kEnding);
  return call.get();
}

grpc::ServerUnaryReactor* DevicePluginService::GetPreferredAllocation(
    grpc::CallbackServerContext* /*context*/, const v1beta1::PreferredAllocationRequest* request,
    v1beta1::PreferredAllocationResponse* answer) {
  const auto call = PreferCall::open(*request, *answer, whenCancelled());
  const bool posted = taskQueue_->post([resource = resource_, events = &events_, call]() {
    events->preferenceAsked(resource, call);
  });
  // An error would fail the pod; without an answer the kubelet has no preference.
  if (!posted && call->claim()) call->answer({});
  return call.get();
}

}  // namespace vfiogate
