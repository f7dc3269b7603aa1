#include "plugind/kubelet/kubelet_call.h"

#include "plugind/kubelet/list_watch_stream.h"

#include <algorithm>

namespace vfiogate {

void KubeletCall::refuse(grpc::StatusCode code, const std::string& text) {
  responder_->finish(grpc::Status(code, text));
}

void KubeletCall::hungUp() {
  if (claim()) cancelled_(shared_from_this());
}

AllocateCall::AllocateCall(const v1beta1::AllocateRequest& request,
                           std::shared_ptr<Responder> responder, Cancelled cancelled)
    : KubeletCall(std::move(responder), std::move(cancelled)) {
  for (const auto& container : request.container_requests()) {
    ids_.insert(ids_.end(), container.devices_ids().begin(), container.devices_ids().end());
  }
}

void AllocateCall::grant(const AllocationResponse& answer) {
  responder().finish(toMessage(answer));
}

StartCall::StartCall(const v1beta1::PreStartContainerRequest& request,
                     std::shared_ptr<Responder> responder, Cancelled cancelled)
    : KubeletCall(std::move(responder), std::move(cancelled)),
      ids_(request.devices_ids().begin(), request.devices_ids().end()) {}

void StartCall::pass() {
  responder().finish(v1beta1::PreStartContainerResponse());
}

PreferCall::PreferCall(const v1beta1::PreferredAllocationRequest& request,
                       std::shared_ptr<Responder> responder, Cancelled cancelled)
    : KubeletCall(std::move(responder), std::move(cancelled)) {
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
  v1beta1::PreferredAllocationResponse response;
  for (const std::vector<std::string>& one : ids) {
    auto& container = *response.add_container_responses();
    for (const std::string& id : one) container.add_deviceids(id);
  }
  responder().finish(response);
}

}  // namespace vfiogate
