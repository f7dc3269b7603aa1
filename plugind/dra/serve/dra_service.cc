#include "plugind/dra/serve/dra_service.h"

#include "plugind/dra/claims/claims_call.h"

#include <grpcpp/support/server_callback.h>

#include <algorithm>
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
  static std::shared_ptr<ClaimsCall> open(Kind kind, std::vector<ClaimName> claims,
                                          Response& response, Cancelled cancelled) {
    return keep<VersionedCall>(std::move(cancelled), kind, std::move(claims), response);
  }

  void answer(const ClaimResults& results) override {
    // Without an entry the kubelet fails all claims of the call, and does not say which was meant.
    const ClaimResult none{.devices = {}, .error = "vfiogate did not decide about this claim"};
    auto& entries = *response_.mutable_claims();
    for (const ClaimName& claim : claims()) {
      const auto result = results.find(claim.uid);
      put(result == results.end() ? none : result->second, entries[claim.uid]);
    }
    Finish(grpc::Status::OK);
  }

private:
  friend class KubeletCall;
  VersionedCall(Kind kind, std::vector<ClaimName> claims, Response& response)
      : ClaimsCall(kind, std::move(claims)), response_(response) {}

  Response& response_;  ///< gRPC's, valid until Finish
};

template <typename Version>
class VersionedService final : public Version::Plugin::CallbackService {
public:
  VersionedService(DraEvents& events, std::shared_ptr<TaskQueue> taskQueue)
      : events_(events), taskQueue_(std::move(taskQueue)) {}

  grpc::ServerUnaryReactor* NodePrepareResources(grpc::CallbackServerContext* context,
                                                 const typename Version::Prepare* request,
                                                 typename Version::Prepared* answer) override {
    return ask(ClaimsCall::Kind::kPrepare, *context, *request, *answer);
  }

  grpc::ServerUnaryReactor* NodeUnprepareResources(grpc::CallbackServerContext* context,
                                                   const typename Version::Unprepare* request,
                                                   typename Version::Unprepared* answer) override {
    return ask(ClaimsCall::Kind::kUnprepare, *context, *request, *answer);
  }

private:
  template <typename Request, typename Response>
  grpc::ServerUnaryReactor* ask(ClaimsCall::Kind kind, grpc::CallbackServerContext& context,
                                const Request& request, Response& answer) {
    auto claims = claimsOf(request);
    if (const auto objection = objectionTo(claims)) {
      grpc::ServerUnaryReactor* refusal = context.DefaultReactor();
      refusal->Finish({grpc::StatusCode::INVALID_ARGUMENT, wireText(*objection)});
      return refusal;
    }
    // Captures copies: the call may outlive this service by the time that gRPC takes to end it.
    auto cancelled = [taskQueue = taskQueue_,
                      events = &events_](const std::shared_ptr<KubeletCall>& call) {
      // Not sent: nobody is left who would work for the call.
      static_cast<void>(taskQueue->post([events, call]() {
        events->claimsCancelled(std::static_pointer_cast<ClaimsCall>(call));
      }));
    };
    const auto call =
        VersionedCall<Response>::open(kind, std::move(claims), answer, std::move(cancelled));
    const bool posted =
        taskQueue_->post([events = &events_, call]() { events->claimsAsked(call); });
    if (!posted && call->claim()) {
      call->refuse(grpc::StatusCode::UNAVAILABLE, "vfiogate is ending");
    }
    return call.get();
  }

  DraEvents& events_;
  const std::shared_ptr<TaskQueue> taskQueue_;
};

}  // namespace

std::unique_ptr<grpc::Service> draService(DraVersion version, DraEvents& events,
                                          std::shared_ptr<TaskQueue> taskQueue) {
  if (version == DraVersion::kV1) {
    return std::make_unique<VersionedService<DraWordsV1>>(events, std::move(taskQueue));
  }
  return std::make_unique<VersionedService<DraWordsV1beta1>>(events, std::move(taskQueue));
}

std::string wireText(std::string_view text) {
  constexpr std::string_view kDots = "...";
  std::string plain(text.substr(0, kLongestWireText));
  if (text.size() > kLongestWireText) {
    plain.replace(kLongestWireText - kDots.size(), kDots.size(), kDots);
  }
  const auto foreign = [](char c) { return static_cast<unsigned char>(c) >= 0x80; };
  std::ranges::replace_if(plain, foreign, '?');
  return plain;
}

}  // namespace vfiogate
