#pragma once
// The stand-in kubelet and a plugin whose every answer the test decides.

#include "proto/deviceplugin.grpc.pb.h"
#include "sim/base/temp_dir.h"
#include "sim/kubelet/kubelet_sim.h"

#include <gtest/gtest.h>

#include <grpcpp/grpcpp.h>

#include <atomic>
#include <condition_variable>
#include <filesystem>
#include <fstream>
#include <functional>
#include <mutex>
#include <optional>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace vfiogate::sim {

inline const std::string kResource = "example.com/gpu";

/// A plugin whose every answer the test decides.
class PlayedPlugin final : public v1beta1::DevicePlugin::Service {
public:
  explicit PlayedPlugin(const std::string& socket) {
    grpc::ServerBuilder builder;
    builder.AddListeningPort("unix:" + socket, grpc::InsecureServerCredentials());
    builder.RegisterService(this);
    server_ = builder.BuildAndStart();
  }
  ~PlayedPlugin() override {
    endStream();
    server_->Shutdown(std::chrono::system_clock::now());
  }

  void show(std::vector<std::pair<std::string, std::string>> devices) {
    v1beta1::ListAndWatchResponse frame;
    for (const auto& [id, health] : devices) {
      auto* device = frame.add_devices();
      device->set_id(id);
      device->set_health(health);
    }
    const std::lock_guard lock(mutex_);
    pending_.push_back(frame);
    changed_.notify_all();
  }
  void endStream() {
    const std::lock_guard lock(mutex_);
    ended_ = true;
    changed_.notify_all();
  }

  grpc::Status GetDevicePluginOptions(grpc::ServerContext*, const v1beta1::Empty*,
                                      v1beta1::DevicePluginOptions*) override {
    ++optionsAsked;
    return optionsStatus;
  }
  grpc::Status ListAndWatch(grpc::ServerContext* context, const v1beta1::Empty*,
                            grpc::ServerWriter<v1beta1::ListAndWatchResponse>* writer) override {
    hasDeadline = context->deadline() < std::chrono::system_clock::now() + std::chrono::hours(24);
    std::unique_lock lock(mutex_);
    while (!ended_ && !context->IsCancelled()) {
      while (!pending_.empty()) {
        writer->Write(pending_.front());
        pending_.erase(pending_.begin());
      }
      changed_.wait_for(lock, std::chrono::milliseconds(10));
    }
    return grpc::Status::OK;
  }
  grpc::Status Allocate(grpc::ServerContext* context, const v1beta1::AllocateRequest* request,
                        v1beta1::AllocateResponse* response) override {
    requests.push_back(*request);
    allocateHasDeadline =
        context->deadline() < std::chrono::system_clock::now() + std::chrono::hours(24);
    if (duringAllocate) duringAllocate();
    if (allocateStatus.ok() && answerContainers) {
      (*response->add_container_responses()->mutable_envs())["GOT"] = "it";
    }
    return allocateStatus;
  }

  grpc::Status optionsStatus;
  grpc::Status allocateStatus;
  bool answerContainers = true;
  std::function<void()> duringAllocate;
  std::atomic<int> optionsAsked = 0;
  std::atomic<bool> hasDeadline = false;
  bool allocateHasDeadline = false;
  std::vector<v1beta1::AllocateRequest> requests;

private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<v1beta1::ListAndWatchResponse> pending_;
  bool ended_ = false;
  std::unique_ptr<grpc::Server> server_;
};

class KubeletRows : public testing::Test {
protected:
  KubeletRows() {
    std::filesystem::create_directories(dir_ / "device-plugins");
    sim_.emplace(dir_.path(), KubeletOptions{.dialWithin = std::chrono::milliseconds(300)});
  }
  std::string path(const std::string& name) const { return dir_ / ("device-plugins/" + name); }
  std::string enroll(const std::string& resource = kResource,
                     const std::string& version = "v1beta1") {
    v1beta1::RegisterRequest request;
    request.set_version(version);
    request.set_endpoint("plugin.sock");
    request.set_resource_name(resource);
    *request.mutable_options() = optionsOfRequest_;
    // As any plugin does it: over the kubelet's socket.
    auto stub = v1beta1::Registration::NewStub(
        grpc::CreateChannel("unix:" + path("kubelet.sock"), grpc::InsecureChannelCredentials()));
    grpc::ClientContext context;
    context.set_wait_for_ready(true);
    context.set_deadline(std::chrono::system_clock::now() + kPatience);
    v1beta1::Empty nothing;
    const grpc::Status status = stub->Register(&context, request, &nothing);
    lastCode_ = status.error_code();
    return status.error_message();
  }
  void play() {
    plugin_.emplace(path("plugin.sock"));
    sim_->start();
    // The start swept the plugin's socket away.
    plugin_.reset();
    plugin_.emplace(path("plugin.sock"));
  }
  std::string checkpointText() const {
    std::stringstream text;
    text << std::ifstream(path("kubelet_internal_checkpoint")).rdbuf();
    return text.str();
  }
  static PodSpec pod(const std::string& uid, std::size_t count = 1) {
    return {.uid = uid, .initContainers = {}, .containers = {{"c", {{kResource, count}}}}};
  }

  TempDir dir_;
  std::optional<PlayedPlugin> plugin_;
  std::optional<KubeletSim> sim_;
  v1beta1::DevicePluginOptions optionsOfRequest_;
  grpc::StatusCode lastCode_ = grpc::StatusCode::OK;
};

}  // namespace vfiogate::sim
