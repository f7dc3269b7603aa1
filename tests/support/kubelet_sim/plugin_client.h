#pragma once
// The kubelet's side of one registered plugin.

#include "proto/deviceplugin.grpc.pb.h"

#include <grpcpp/grpcpp.h>

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <thread>

namespace vfiogate::sim {

/// One connection to a plugin's socket.
class PluginClient {
public:
  using Frame = v1beta1::ListAndWatchResponse;

  explicit PluginClient(const std::string& socketPath);
  /// Closes the connection: the stream, if it runs, ends.
  ~PluginClient();
  PluginClient(const PluginClient&) = delete;
  PluginClient& operator=(const PluginClient&) = delete;

  /// True once the plugin serves, not merely listens.
  bool connect(std::chrono::milliseconds within);
  grpc::Status options(v1beta1::DevicePluginOptions& options, std::chrono::milliseconds within);
  /// Reads frames on a thread of its own until the stream ends; then `ended` is called, once.
  void watch(std::function<void(const Frame&)> onFrame, std::function<void()> ended);
  grpc::Status allocate(const v1beta1::AllocateRequest& request,
                        v1beta1::AllocateResponse& response);
  /// Ends the stream and whatever call is under way.
  void close();

private:
  std::shared_ptr<grpc::Channel> channel_;
  std::unique_ptr<v1beta1::DevicePlugin::Stub> stub_;
  grpc::ClientContext watching_;
  std::thread reader_;
};

}  // namespace vfiogate::sim
