#pragma once
// The kubelet as the self-test plays it: it registers one plugin, and has one pod.

#include "plugind/self_test/played_privd.h"

#include "proto/deviceplugin.grpc.pb.h"
#include "proto/podresources.grpc.pb.h"

#include <grpcpp/grpcpp.h>

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

namespace vfiogate {

/// Serves both of the kubelet's sockets from construction to destruction.
class PlayedKubelet final : private v1beta1::Registration::Service,
                            private v1::PodResourcesLister::Service {
public:
  explicit PlayedKubelet(const ScratchPlaces& places);
  ~PlayedKubelet() override;
  PlayedKubelet(const PlayedKubelet&) = delete;
  PlayedKubelet& operator=(const PlayedKubelet&) = delete;

  /// The path of the plugin's socket, when it has registered. Absent: plugindLeft(), or nothing
  /// came within `patience`.
  std::optional<std::string> awaitPlugin(std::chrono::seconds patience);
  /// Nothing is waited for any more.
  void plugindLeft();

private:
  grpc::Status Register(grpc::ServerContext* context, const v1beta1::RegisterRequest* request,
                        v1beta1::Empty* response) override;
  grpc::Status List(grpc::ServerContext* context, const v1::ListPodResourcesRequest* request,
                    v1::ListPodResourcesResponse* response) override;

  const std::string directory_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::string plugin_;  ///< empty: none has registered
  bool left_ = false;
  std::unique_ptr<grpc::Server> server_;
};

/// What the kubelet asks of a plugin, a call each.
class PlayedCalls {
public:
  explicit PlayedCalls(const std::string& socket);
  ~PlayedCalls();
  PlayedCalls(const PlayedCalls&) = delete;
  PlayedCalls& operator=(const PlayedCalls&) = delete;

  /// Returns when its device is healthy in a frame; the stream stays. Once.
  grpc::Status watch();
  grpc::Status options();
  grpc::Status prefer();
  grpc::Status allocate();
  grpc::Status start();

private:
  std::unique_ptr<v1beta1::DevicePlugin::Stub> plugin_;
  grpc::ClientContext watching_;
  std::unique_ptr<grpc::ClientReader<v1beta1::ListAndWatchResponse>> frames_;
};

}  // namespace vfiogate
