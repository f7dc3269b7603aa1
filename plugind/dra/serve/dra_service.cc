#include "plugind/dra/serve/dra_service.h"

#include "plugind/dra/claims/claims_call.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace vfiogate {
namespace {

template <typename Request>
std::vector<ClaimName> claimsOf(const Request& request) {
  std::vector<ClaimName> claims;
  claims.reserve(static_cast<std::size_t>(request.claims_size()));
  for (const auto& claim : request.claims()) {
    claims.push_back(
        {.uid = claim.uid(), .claimNamespace = claim.namespace_(), .name = claim.name()});
  }
  return claims;
}

template <typename Device>
void put(const PreparedDevice& prepared, Device& device) {
  for (const std::string& name : prepared.requestNames) device.add_request_names(name);
  device.set_pool_name(prepared.pool);
  device.set_device_name(prepared.device);
  for (const std::string& name : prepared.cdiNames) device.add_cdi_device_ids(name);
  if constexpr (requires { device.set_share_id(std::string()); }) {
    if (prepared.shareId) device.set_share_id(*prepared.shareId);
  }
}

template <typename Entry>
void put(const ClaimResult& result, Entry& entry) {
  entry.set_error(wireText(result.error));
  if constexpr (requires { entry.add_devices(); }) {
    if (!result.error.empty()) return;
    for (const PreparedDevice& device : result.devices) put(device, *entry.add_devices());
  }
}

template <typename Response>
class VersionedCall final : public ClaimsCall {
public:
  VersionedCall(Kind kind, std::vector<ClaimName> claims, std::shared_ptr<Responder> responder,
                Cancelled cancelled)
      : ClaimsCall(kind, std::move(claims), std::move(responder), std::move(cancelled)) {}

  void answer(const ClaimResults& results) override {
    // Without an entry the kubelet fails all claims of the call, and does not say which was meant.
    const ClaimResult none{.devices = {}, .error = "vfiogate did not decide about this claim"};
    Response response;
    auto& entries = *response.mutable_claims();
    for (const ClaimName& claim : claims()) {
      const auto result = results.find(claim.uid);
      put(result == results.end() ? none : result->second, entries[claim.uid]);
    }
    responder().finish(response);
  }
};

/// Where a call goes, copied into each: it may outlive its server by the time that gRPC takes to
/// end it.
struct Asking {
  DraEvents* events;
  std::shared_ptr<TaskQueue> taskQueue;
};

template <typename Request, typename Response>
std::shared_ptr<CallObserver> ask(const Asking& asking, ClaimsCall::Kind kind,
                                  const std::shared_ptr<Responder>& responder,
                                  const Request& request) {
  auto claims = claimsOf(request);
  if (const auto objection = objectionTo(claims)) {
    responder->finish({grpc::StatusCode::INVALID_ARGUMENT, wireText(*objection)});
    return nullptr;
  }
  auto cancelled = [asking](const std::shared_ptr<KubeletCall>& call) {
    // Not sent: nobody is left who would work for the call.
    static_cast<void>(asking.taskQueue->post([events = asking.events, call]() {
      events->claimsCancelled(std::static_pointer_cast<ClaimsCall>(call));
    }));
  };
  const auto call = std::make_shared<VersionedCall<Response>>(kind, std::move(claims), responder,
                                                              std::move(cancelled));
  const bool posted =
      asking.taskQueue->post([events = asking.events, call]() { events->claimsAsked(call); });
  if (!posted && call->claim()) call->refuse(grpc::StatusCode::UNAVAILABLE, "vfiogate is ending");
  return call;
}

template <typename Request, typename Response>
Method askingMethod(const Asking& asking, ClaimsCall::Kind kind) {
  return methodOf<Request>([asking, kind](const auto& responder, const auto& request) {
    return ask<Request, Response>(asking, kind, responder, request);
  });
}

template <typename Words>
void addMethods(Methods& methods, const Asking& asking) {
  const std::string start = std::string("/") + Words::kPlugin + "/";
  methods[start + "NodePrepareResources"] =
      askingMethod<typename Words::Prepare, typename Words::Prepared>(asking,
                                                                      ClaimsCall::Kind::kPrepare);
  methods[start + "NodeUnprepareResources"] =
      askingMethod<typename Words::Unprepare, typename Words::Unprepared>(
          asking, ClaimsCall::Kind::kUnprepare);
}

}  // namespace

Methods draMethods(DraEvents& events, const std::shared_ptr<TaskQueue>& taskQueue) {
  Methods methods;
  addMethods<DraWordsV1>(methods, {&events, taskQueue});
  addMethods<DraWordsV1beta1>(methods, {&events, taskQueue});
  methods.merge(healthMethods(events, taskQueue));
  return methods;
}

std::string wireText(std::string_view text) {
  constexpr std::string_view kDots = "...";
  std::string plain(text.substr(0, kLongestWireText));
  if (text.size() > kLongestWireText) {
    plain.replace(kLongestWireText - kDots.size(), kDots.size(), kDots);
  }
  std::ranges::replace_if(
      plain, [](char c) { return c < ' ' || c > '~'; }, '?');
  return plain;
}

}  // namespace vfiogate
