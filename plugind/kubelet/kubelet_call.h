#pragma once
// One call of the kubelet that the state loop decides, from its arrival to its one answer.

#include "plugind/core/resource/allocation_response.h"
#include "plugind/core/resource/preferred_allocation.h"
#include "plugind/rpc/served_call.h"
#include "proto/deviceplugin.pb.h"

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace vfiogate {

/// Answered exactly once: by whoever claims it first, the state loop or the kubelet's hanging up.
class KubeletCall : public CallObserver, public std::enable_shared_from_this<KubeletCall> {
public:
  /// Called at most once, on the queue's thread, when the kubelet hung up before anybody claimed
  /// the answer.
  using Cancelled = std::function<void(const std::shared_ptr<KubeletCall>&)>;

  /// Any thread: true once, for the one who must answer now.
  [[nodiscard]] bool claim() { return !claimed_.exchange(true); }
  bool claimed() const { return claimed_; }

  void refuse(grpc::StatusCode code, const std::string& text);

protected:
  KubeletCall(std::shared_ptr<Responder> responder, Cancelled cancelled)
      : responder_(std::move(responder)), cancelled_(std::move(cancelled)) {}

  Responder& responder() const { return *responder_; }

private:
  void written(bool /*sent*/) final {}
  void hungUp() final;
  void over() final {}

  const std::shared_ptr<Responder> responder_;
  const Cancelled cancelled_;
  std::atomic<bool> claimed_ = false;
};

class AllocateCall final : public KubeletCall {
public:
  AllocateCall(const v1beta1::AllocateRequest& request, std::shared_ptr<Responder> responder,
               Cancelled cancelled);

  /// What the kubelet asks for, in its words and order.
  const std::vector<std::string>& ids() const { return ids_; }
  void grant(const AllocationResponse& answer);

private:
  std::vector<std::string> ids_;
};

class StartCall final : public KubeletCall {
public:
  StartCall(const v1beta1::PreStartContainerRequest& request, std::shared_ptr<Responder> responder,
            Cancelled cancelled);

  const std::vector<std::string>& ids() const { return ids_; }
  void pass();

private:
  std::vector<std::string> ids_;
};

class PreferCall final : public KubeletCall {
public:
  PreferCall(const v1beta1::PreferredAllocationRequest& request,
             std::shared_ptr<Responder> responder, Cancelled cancelled);

  /// One for each container that was asked for. None are left.
  std::vector<PreferredRequest> takeRequests() { return std::move(requests_); }
  /// `ids` for each of these requests, in their order.
  void answer(const std::vector<std::vector<std::string>>& ids);

private:
  std::vector<PreferredRequest> requests_;
};

}  // namespace vfiogate
