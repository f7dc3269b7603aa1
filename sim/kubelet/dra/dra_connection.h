#pragma once
// The kubelet's side of one instance of a DRA driver.

#include "proto/dra_health_v1alpha1.grpc.pb.h"
#include "proto/dra_v1.grpc.pb.h"
#include "proto/dra_v1beta1.grpc.pb.h"
#include "sim/kubelet/dra/dra_options.h"

#include <grpcpp/grpcpp.h>

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>

namespace vfiogate::sim {

namespace dra_v1 = k8s::io::kubelet::pkg::apis::dra::v1;

/// One connection, opened at once and again whenever it is lost, with NodeWatchResources always
/// open in it. Every method may be called from any thread but its own.
class DraConnection {
public:
  using Health = v1alpha1::NodeWatchResourcesResponse;
  /// Told on threads of the connection's; none may destroy it.
  struct Listener {
    std::function<void(bool connected)> connection;
    std::function<void(const Health&)> health;
    std::function<void()> healthEnded;
  };

  /// `version` is "v1.DRAPlugin" or "v1beta1.DRAPlugin".
  DraConnection(const std::string& socketPath, const std::string& version, const DraTimes& times,
                Listener listener);
  /// Closes, and waits for its threads: not under a lock that the listener takes.
  ~DraConnection();
  DraConnection(const DraConnection&) = delete;
  DraConnection& operator=(const DraConnection&) = delete;

  /// Within DraTimes::call; CANCELLED once closed, UNAVAILABLE while it is known to be lost.
  grpc::Status prepare(const dra_v1::NodePrepareResourcesRequest& request,
                       dra_v1::NodePrepareResourcesResponse& response);
  grpc::Status unprepare(const dra_v1::NodeUnprepareResourcesRequest& request,
                         dra_v1::NodeUnprepareResourcesResponse& response);
  /// Cancels all that is under way.
  void close();

private:
  class Call;

  void poll();
  void watchHealth();

  const DraTimes times_;
  const Listener listener_;
  const bool old_;  ///< v1beta1
  std::mutex mutex_;
  std::condition_variable changed_;
  bool closed_ = false;
  std::set<grpc::ClientContext*> calls_;
  std::shared_ptr<grpc::Channel> channel_;
  std::thread polling_;
  std::thread watching_;
};

}  // namespace vfiogate::sim
