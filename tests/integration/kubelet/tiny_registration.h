#pragma once
// The registration socket of a plugin, played: what the stand-in kubelet's watcher is tried
// against.

#include "proto/pluginregistration.grpc.pb.h"
#include "sim/kubelet/base/lasting_socket.h"

#include <grpcpp/grpcpp.h>

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace vfiogate::sim {

/// Serves at a path until it is destroyed; the socket's file stays, as a killed plugin's does.
class TinyRegistration final : public pluginregistration::Registration::Service {
public:
  struct Notice {
    bool registered = false;
    std::string error;
  };

  TinyRegistration(const std::string& socketPath, const std::string& type, const std::string& name,
                   const std::vector<std::string>& versions, const std::string& endpoint = "");
  ~TinyRegistration() override;
  TinyRegistration(const TinyRegistration&) = delete;
  TinyRegistration& operator=(const TinyRegistration&) = delete;

  /// How long the answers take from now on.
  void answerAfter(std::chrono::milliseconds info, std::chrono::milliseconds notify);
  /// True as soon as it was asked, or told, so often; false after kPatience.
  bool awaitAsked(std::size_t count);
  bool awaitNotices(std::size_t count);
  std::size_t asked();
  std::vector<Notice> notices();
  /// True as soon as nobody is connected any more; false after kPatience.
  bool awaitHungUp() const;
  /// That the kubelet named when it asked last.
  std::string authority();

  grpc::Status GetInfo(grpc::ServerContext* context, const pluginregistration::InfoRequest* request,
                       pluginregistration::PluginInfo* info) override;
  grpc::Status NotifyRegistrationStatus(
      grpc::ServerContext* context, const pluginregistration::RegistrationStatus* status,
      pluginregistration::RegistrationStatusResponse* nothing) override;

private:
  void linger(std::unique_lock<std::mutex>& lock, std::chrono::milliseconds pause);

  const std::string path_;
  pluginregistration::PluginInfo info_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool leaving_ = false;
  std::chrono::milliseconds infoAfter_{0};
  std::chrono::milliseconds notifyAfter_{0};
  std::size_t asked_ = 0;
  std::string authority_;
  std::vector<Notice> notices_;
  std::unique_ptr<grpc::Server> server_;
  std::unique_ptr<LastingSocket> socket_;
};

}  // namespace vfiogate::sim
