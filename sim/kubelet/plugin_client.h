#pragma once
// The kubelet's side of one registered plugin.

#include "proto/deviceplugin.grpc.pb.h"

#include <grpcpp/grpcpp.h>

#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>

namespace vfiogate::sim {

/// One connection to a plugin's socket. Every method may be called from any thread.
class PluginClient {
public:
  using Frame = v1beta1::ListAndWatchResponse;

  explicit PluginClient(const std::string& socketPath);
  /// Closes, and waits for the reader: not to be run by it, nor under a lock that it takes.
  ~PluginClient();
  PluginClient(const PluginClient&) = delete;
  PluginClient& operator=(const PluginClient&) = delete;

  /// True once the plugin serves, not merely listens; false at the deadline, or once closed.
  bool connect(std::chrono::system_clock::time_point deadline);
  grpc::Status options(v1beta1::DevicePluginOptions& options,
                       std::optional<std::chrono::milliseconds> within);
  /// Reads frames on a thread of its own until the stream ends; then `ended` is called, once.
  void watch(std::function<void(const Frame&)> onFrame, std::function<void()> ended);
  /// These end with CANCELLED once closed. Allocate and the question for a preference have no
  /// deadline, as in the real one (K16).
  grpc::Status allocate(const v1beta1::AllocateRequest& request,
                        v1beta1::AllocateResponse& response);
  grpc::Status preferred(const v1beta1::PreferredAllocationRequest& request,
                         v1beta1::PreferredAllocationResponse& response);
  grpc::Status preStart(const v1beta1::PreStartContainerRequest& request,
                        std::chrono::milliseconds within);
  /// Cancels the stream and all calls under way; the connection closes when they have ended.
  void close();

private:
  class Call;
  using Stub = v1beta1::DevicePlugin::Stub;

  std::mutex mutex_;
  bool closed_ = false;
  std::shared_ptr<grpc::Channel> channel_;
  std::shared_ptr<Stub> stub_;
  std::set<grpc::ClientContext*> calls_;
  std::thread reader_;
};

}  // namespace vfiogate::sim
