#pragma once
// The kubelet's side of one plugin's registration socket.

#include "proto/pluginregistration.grpc.pb.h"

#include <grpcpp/grpcpp.h>

#include <chrono>
#include <memory>
#include <mutex>
#include <string>

namespace vfiogate::sim {

/// The authority that the kubelet names on a registration socket: the path, percent-encoded (K24).
std::string encodedAuthority(const std::string& path);

/// One connection, closed with its owner. cancel() may be called from any thread, the rest from
/// one.
class WatcherClient {
public:
  using Limit = std::chrono::milliseconds;

  explicit WatcherClient(const std::string& socketPath);

  bool connect(Limit within);
  grpc::Status info(pluginregistration::PluginInfo& info, Limit within);
  /// Tells the plugin what became of its registration; `error` empty: it is registered.
  grpc::Status notify(const std::string& error, Limit within);
  /// Ends what is under way and all that comes.
  void cancel();

private:
  template <typename Call>
  grpc::Status call(Limit within, Call call);

  std::shared_ptr<grpc::Channel> channel_;
  std::unique_ptr<pluginregistration::Registration::Stub> stub_;
  std::mutex mutex_;
  bool cancelled_ = false;
  grpc::ClientContext* current_ = nullptr;  ///< of the call under way
};

}  // namespace vfiogate::sim
