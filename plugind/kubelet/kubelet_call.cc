#include "plugind/kubelet/kubelet_call.h"

#include "plugind/kubelet/list_watch_stream.h"

#include <algorithm>

namespace vfiogate {

void KubeletCall::refuse(grpc::StatusCode code, const std::string& text) {
  Finish(grpc::Status(code, text));
}

void KubeletCall::OnCancel() {
  if (!claim()) return;
  cancelled_(self_);
  refuse(grpc::StatusCode::CANCELLED, "the kubelet hung up");
}

void KubeletCall::OnDone() {
  const std::shared_ptr<KubeletCall> self = std::move(self_);
}

std::shared_ptr<AllocateCall> AllocateCall::open(const v1beta1::AllocateRequest& request,
                                                 v1beta1::AllocateResponse& response,
                                                 Cancelled cancelled) {
  return keep<AllocateCall>(std::move(cancelled), request, response);
}

AllocateCall::AllocateCall(const v1beta1::AllocateRequest& request,
                           v1beta1::AllocateResponse& response)
    : response_(response) {
  for (const auto& container : request.container_requests()) {
    ids_.insert(ids_.end(), container.devices_ids().begin(), container.devices_ids().end());
  }
}

void AllocateCall::grant(const AllocationResponse& answer) {
  response_ = toMessage(answer);
  Finish(grpc::Status::OK);
}

std::shared_ptr<StartCall> StartCall::open(const v1beta1::PreStartContainerRequest& request,
                                           Cancelled cancelled) {
  return keep<StartCall>(std::move(cancelled), request);
}

StartCall::StartCall(const v1beta1::PreStartContainerRequest& request)
    : ids_(request.devices_ids().begin(), request.devices_ids().end()) {}

void StartCall::pass() {
  Finish(grpc::Status::OK);
}

std::shared_ptr<PreferCall> PreferCall::open(const v1beta1::PreferredAllocationRequest& request,
                                             v1beta1::PreferredAllocationResponse& response,
                                             Cancelled cancelled) {
  return keep<PreferCall>(std::move(cancelled), request, response);
}

PreferCall::PreferCall(const v1beta1::PreferredAllocationRequest& request,
                       v1beta1::PreferredAllocationResponse& response)
    : response_(response) {
  for (const auto& container : request.container_requests()) {
    const auto& available = container.available_deviceids();
    const auto& decided = container.must_include_deviceids();
    requests_.push_back(
        {.available = {available.begin(), available.end()},
         .mustInclude = {decided.begin(), decided.end()},
         .size = static_cast<std::size_t>(std::max(container.allocation_size(), 0))});
  }
}

void PreferCall::answer(const std::vector<std::vector<std::string>>& ids) {
  for (const std::vector<std::string>& one : ids) {
    auto& container = *response_.add_container_responses();
    for (const std::string& id : one) container.add_deviceids(id);
  }
  Finish(grpc::Status::OK);
}

}  // namespace vfiogate
