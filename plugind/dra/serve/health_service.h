#pragma once
// v1alpha1.DRAResourceHealth: the kubelet opens its stream whether it was named or not.

#include "plugind/base/task_queue.h"
#include "plugind/dra/serve/dra_events.h"
#include "proto/dra_health_v1alpha1.grpc.pb.h"

#include <chrono>
#include <memory>

namespace vfiogate {

/// Devices of which the kubelet heard nothing for this long are unknown to it: send() again sooner.
constexpr std::chrono::seconds kHealthTimeout{30};

class HealthService final : public v1alpha1::DRAResourceHealth::CallbackService {
public:
  /// `events` hears of streams through `taskQueue` for as long as that is open.
  HealthService(DraEvents& events, std::shared_ptr<TaskQueue> taskQueue);

  grpc::ServerWriteReactor<v1alpha1::NodeWatchResourcesResponse>* NodeWatchResources(
      grpc::CallbackServerContext* context,
      const v1alpha1::NodeWatchResourcesRequest* request) override;

private:
  DraEvents& events_;
  const std::shared_ptr<TaskQueue> taskQueue_;
};

}  // namespace vfiogate
