#pragma once
// One Allocate call, from its arrival to its one answer.

#include "plugind/core/allocation_response.h"
#include "proto/deviceplugin.grpc.pb.h"

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace vfiogate {

/// Answered exactly once: by whoever claims it first, the state loop or the kubelet's hanging up.
class AllocateCall final : public grpc::ServerUnaryReactor {
public:
  using Cancelled = std::function<void(const std::shared_ptr<AllocateCall>&)>;

  /// `cancelled` is called at most once, on a thread of gRPC, when the kubelet hung up before
  /// anybody claimed the answer.
  static std::shared_ptr<AllocateCall> open(const v1beta1::AllocateRequest& request,
                                            v1beta1::AllocateResponse& response,
                                            Cancelled cancelled);

  /// What the kubelet asks for, in its words and order.
  const std::vector<std::string>& ids() const { return ids_; }

  /// Any thread: true once, for the one who must call grant() or refuse() now.
  [[nodiscard]] bool claim() { return !claimed_.exchange(true); }
  bool claimed() const { return claimed_; }

  void grant(const AllocationResponse& answer);
  void refuse(grpc::StatusCode code, const std::string& text);

private:
  AllocateCall(const v1beta1::AllocateRequest& request, v1beta1::AllocateResponse& response,
               Cancelled cancelled);

  void OnCancel() override;
  void OnDone() override;

  const Cancelled cancelled_;
  std::vector<std::string> ids_;
  v1beta1::AllocateResponse& response_;  ///< gRPC's, valid until Finish
  std::atomic<bool> claimed_ = false;
  std::shared_ptr<AllocateCall> self_;  ///< until gRPC is done
};

}  // namespace vfiogate
