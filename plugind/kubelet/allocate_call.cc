#include "plugind/kubelet/allocate_call.h"

#include "plugind/kubelet/frame_to_proto.h"

#include <utility>

namespace vfiogate {

std::shared_ptr<AllocateCall> AllocateCall::open(const v1beta1::AllocateRequest& request,
                                                 v1beta1::AllocateResponse& response,
                                                 Cancelled cancelled) {
  std::shared_ptr<AllocateCall> call(new AllocateCall(request, response, std::move(cancelled)));
  call->self_ = call;
  return call;
}

AllocateCall::AllocateCall(const v1beta1::AllocateRequest& request,
                           v1beta1::AllocateResponse& response, Cancelled cancelled)
    : cancelled_(std::move(cancelled)), response_(response) {
  for (const auto& container : request.container_requests()) {
    ids_.insert(ids_.end(), container.devices_ids().begin(), container.devices_ids().end());
  }
}

void AllocateCall::grant(const AllocationResponse& answer) {
  response_ = toMessage(answer);
  Finish(grpc::Status::OK);
}

void AllocateCall::refuse(grpc::StatusCode code, const std::string& text) {
  Finish(grpc::Status(code, text));
}

void AllocateCall::OnCancel() {
  if (!claim()) return;
  cancelled_(self_);
  refuse(grpc::StatusCode::CANCELLED, "the kubelet hung up");
}

void AllocateCall::OnDone() {
  const std::shared_ptr<AllocateCall> self = std::move(self_);
}

}  // namespace vfiogate
