#include "plugind/kubelet/device_plugin_service.h"

#include <utility>

namespace vfiogate {
namespace {

constexpr const char* kEnding = "vfiogate is ending";

}  // namespace

DevicePluginService::DevicePluginService(ResourceName resource, PluginEvents& events,
                                         std::shared_ptr<Letterbox> letterbox)
    : resource_(std::move(resource)), events_(events), letterbox_(std::move(letterbox)) {}

grpc::ServerUnaryReactor* DevicePluginService::GetDevicePluginOptions(
    grpc::CallbackServerContext* context, const v1beta1::Empty* /*request*/,
    v1beta1::DevicePluginOptions* answer) {
  answer->set_pre_start_required(false);
  answer->set_get_preferred_allocation_available(false);
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  reactor->Finish(grpc::Status::OK);
  return reactor;
}

grpc::ServerWriteReactor<v1beta1::ListAndWatchResponse>* DevicePluginService::ListAndWatch(
    grpc::CallbackServerContext* /*context*/, const v1beta1::Empty* /*request*/) {
  // Captures copies: the call may outlive this service by the time that gRPC takes to end it.
  auto ended = [resource = resource_, letterbox = letterbox_,
                events = &events_](const ListWatchStream& stream) {
    // Not sent: nobody is left who held the stream.
    static_cast<void>(letterbox->post(
        [resource, events, stream = &stream]() { events->streamEnded(resource, *stream); }));
  };
  const auto stream = ListWatchStream::open(std::move(ended));
  const bool posted = letterbox_->post([resource = resource_, events = &events_, stream]() {
    events->streamOpened(resource, stream);
  });
  if (!posted) stream->end(grpc::Status(grpc::StatusCode::UNAVAILABLE, kEnding));
  return stream.get();
}

grpc::ServerUnaryReactor* DevicePluginService::Allocate(grpc::CallbackServerContext* /*context*/,
                                                        const v1beta1::AllocateRequest* request,
                                                        v1beta1::AllocateResponse* answer) {
  auto cancelled = [letterbox = letterbox_,
                    events = &events_](const std::shared_ptr<AllocateCall>& call) {
    // Not sent: nobody is left who would work for the call.
    static_cast<void>(letterbox->post([events, call]() { events->allocateCancelled(call); }));
  };
  const auto call = AllocateCall::open(*request, *answer, std::move(cancelled));
  if (request->container_requests_size() != 1) {
    if (call->claim()) {
      call->refuse(grpc::StatusCode::INVALID_ARGUMENT,
                   "a kubelet asks for one container at a time, not for " +
                       std::to_string(request->container_requests_size()));
    }
    return call.get();
  }
  const bool posted = letterbox_->post(
      [resource = resource_, events = &events_, call]() { events->allocateAsked(resource, call); });
  if (!posted && call->claim()) call->refuse(grpc::StatusCode::UNAVAILABLE, kEnding);
  return call.get();
}

}  // namespace vfiogate
