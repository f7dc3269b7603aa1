#pragma once
// One call of the kubelet that the state loop decides, from its arrival to its one answer.

#include "plugind/core/resource/allocation_response.h"
#include "plugind/core/resource/preferred_allocation.h"
#include "proto/deviceplugin.grpc.pb.h"

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace vfiogate {

/// Answered exactly once: by whoever claims it first, the state loop or the kubelet's hanging up.
class KubeletCall : public grpc::ServerUnaryReactor {
public:
  using Cancelled = std::function<void(const std::shared_ptr<KubeletCall>&)>;

  /// Any thread: true once, for the one who must answer now.
  [[nodiscard]] bool claim() { return !claimed_.exchange(true); }
  bool claimed() const { return claimed_; }

  void refuse(grpc::StatusCode code, const std::string& text);

protected:
  /// Makes a call of type `Call`, kept alive until gRPC is done with it. `cancelled` is called at
  /// most once, on a thread of gRPC, when the kubelet hung up before anybody claimed the answer.
  template <typename Call, typename... Arguments>
  static std::shared_ptr<Call> keep(Cancelled cancelled, Arguments&&... arguments) {
    std::shared_ptr<Call> call(new Call(std::forward<Arguments>(arguments)...));
    call->cancelled_ = std::move(cancelled);
    call->self_ = call;
    return call;
  }

private:
  void OnCancel() final;
  void OnDone() final;

  Cancelled cancelled_;
  std::atomic<bool> claimed_ = false;
  std::shared_ptr<KubeletCall> self_;  ///< until gRPC is done
};

class AllocateCall final : public KubeletCall {
public:
  static std::shared_ptr<AllocateCall> open(const v1beta1::AllocateRequest& request,
                                            v1beta1::AllocateResponse& response,
                                            Cancelled cancelled);

  /// What the kubelet asks for, in its words and order.
  const std::vector<std::string>& ids() const { return ids_; }
  void grant(const AllocationResponse& answer);

private:
  friend class KubeletCall;
  AllocateCall(const v1beta1::AllocateRequest& request, v1beta1::AllocateResponse& response);

  std::vector<std::string> ids_;
  v1beta1::AllocateResponse& response_;  ///< gRPC's, valid until Finish
};

class StartCall final : public KubeletCall {
public:
  static std::shared_ptr<StartCall> open(const v1beta1::PreStartContainerRequest& request,
                                         Cancelled cancelled);

  const std::vector<std::string>& ids() const { return ids_; }
  void pass();

private:
  friend class KubeletCall;
  explicit StartCall(const v1beta1::PreStartContainerRequest& request);

  std::vector<std::string> ids_;
};

class PreferCall final : public KubeletCall {
public:
  static std::shared_ptr<PreferCall> open(const v1beta1::PreferredAllocationRequest& request,
                                          v1beta1::PreferredAllocationResponse& response,
                                          Cancelled cancelled);

  /// One for each container that was asked for.
  const std::vector<PreferredRequest>& requests() const { return requests_; }
  /// `ids` for each of requests(), in their order.
  void answer(const std::vector<std::vector<std::string>>& ids);

private:
  friend class KubeletCall;
  PreferCall(const v1beta1::PreferredAllocationRequest& request,
             v1beta1::PreferredAllocationResponse& response);

  std::vector<PreferredRequest> requests_;
  v1beta1::PreferredAllocationResponse& response_;  ///< gRPC's, valid until Finish
};

}  // namespace vfiogate
