#include "tests/support/small_kubelet.h"

#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>
#include <grpcpp/security/server_credentials.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>

#include <unistd.h>

#include <filesystem>
#include <thread>
#include <utility>

namespace vfiogate::test {

/// The kubelet's connection to one plugin and the stream on it.
class SmallKubelet::Client {
public:
  Client(const std::string& socket, std::function<void(const v1beta1::ListAndWatchResponse&)> frame)
      : stub(v1beta1::DevicePlugin::NewStub(dial(socket))), frame_(std::move(frame)) {}
  ~Client() {
    context_.TryCancel();
    if (reader_.joinable()) reader_.join();
  }
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  grpc::Status askOptions() const {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(10));
    context.set_wait_for_ready(true);
    v1beta1::DevicePluginOptions options;
    return stub->GetDevicePluginOptions(&context, {}, &options);
  }

  void watch() {
    reader_ = std::thread([this]() {
      const auto stream = stub->ListAndWatch(&context_, {});
      v1beta1::ListAndWatchResponse frame;
      while (stream->Read(&frame)) frame_(frame);
      stream->Finish();
    });
  }

  void hangUp() { context_.TryCancel(); }

  const std::unique_ptr<v1beta1::DevicePlugin::Stub> stub;

private:
  static std::shared_ptr<grpc::Channel> dial(const std::string& socket) {
    grpc::ChannelArguments own;
    // Otherwise gRPC reuses the connection of an earlier registration of the same path.
    own.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    return grpc::CreateCustomChannel("unix:" + socket, grpc::InsecureChannelCredentials(), own);
  }

  const std::function<void(const v1beta1::ListAndWatchResponse&)> frame_;
  grpc::ClientContext context_;
  std::thread reader_;
};

class SmallKubelet::Desk final : public v1beta1::Registration::Service {
public:
  Desk(SmallKubelet& kubelet, std::string directory, Manner manner)
      : kubelet_(kubelet), directory_(std::move(directory)), manner_(manner) {}

  grpc::Status Register(grpc::ServerContext* context, const v1beta1::RegisterRequest* request,
                        v1beta1::Empty* /*answer*/) override {
    const std::string resource = request->resource_name();
    if (manner_ == Manner::kRefuses) {
      count(resource);
      return grpc::Status(grpc::StatusCode::UNKNOWN, "not today");
    }
    if (manner_ == Manner::kSilent) {
      count(resource);
      std::unique_lock lock(kubelet_.mutex_);
      kubelet_.changed_.wait(lock, [this, context]() { return over_ || context->IsCancelled(); });
      return grpc::Status::CANCELLED;
    }
    return dialBack(resource, directory_ + "/" + request->endpoint());
  }

  void end() {
    const std::lock_guard lock(kubelet_.mutex_);
    over_ = true;
    kubelet_.changed_.notify_all();
  }

private:
  grpc::Status dialBack(const std::string& resource, const std::string& socket) {
    auto client = std::make_shared<Client>(
        socket,
        [this, resource](const v1beta1::ListAndWatchResponse& frame) { take(resource, frame); });
    if (const auto status = client->askOptions(); !status.ok()) return status;
    client->watch();
    const std::lock_guard lock(kubelet_.mutex_);
    auto& place = kubelet_.clients_[resource];
    if (place) kubelet_.retired_.push_back(std::move(place));
    place = std::move(client);
    ++kubelet_.registrations_[resource];
    kubelet_.changed_.notify_all();
    return grpc::Status::OK;
  }

  void count(const std::string& resource) {
    const std::lock_guard lock(kubelet_.mutex_);
    ++kubelet_.registrations_[resource];
    kubelet_.changed_.notify_all();
  }

  void take(const std::string& resource, const v1beta1::ListAndWatchResponse& frame) {
    Devices devices;
    for (const auto& device : frame.devices()) devices[device.id()] = device.health();
    const std::lock_guard lock(kubelet_.mutex_);
    kubelet_.frames_[resource] = std::move(devices);
    ++kubelet_.frameCounts_[resource];
    kubelet_.changed_.notify_all();
  }

  SmallKubelet& kubelet_;
  const std::string directory_;
  const Manner manner_;
  bool over_ = false;
};

SmallKubelet::SmallKubelet(std::string directory, Manner manner)
    : desk_(std::make_unique<Desk>(*this, directory, manner)) {
  // As a kubelet does: every socket goes, its own comes last.
  for (const auto& entry : std::filesystem::directory_iterator(directory)) {
    if (entry.is_socket()) std::filesystem::remove(entry.path());
  }
  grpc::ServerBuilder builder;
  builder.AddListeningPort("unix:" + directory + "/kubelet.sock",
                           grpc::InsecureServerCredentials());
  builder.RegisterService(desk_.get());
  server_ = builder.BuildAndStart();
}

SmallKubelet::~SmallKubelet() {
  desk_->end();
  server_->Shutdown(std::chrono::system_clock::now());
  server_.reset();
  clients_.clear();
  retired_.clear();
}

template <typename Holds>
bool SmallKubelet::await(Holds holds) {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, kKubeletPatience, holds);
}

bool SmallKubelet::shows(const std::string& resource, const Devices& wanted) {
  return await([&]() {
    const auto found = frames_.find(resource);
    return found != frames_.end() && found->second == wanted;
  });
}

SmallKubelet::Devices SmallKubelet::lastFrame(const std::string& resource) {
  const std::lock_guard lock(mutex_);
  return frames_[resource];
}

std::size_t SmallKubelet::frames(const std::string& resource) {
  const std::lock_guard lock(mutex_);
  return frameCounts_[resource];
}

bool SmallKubelet::registered(const std::string& resource, std::size_t times) {
  return await([&]() { return registrations_[resource] >= times; });
}

SmallKubelet::Allocated SmallKubelet::allocate(const std::string& resource,
                                               const std::vector<std::string>& ids) {
  return allocateImpatiently(resource, ids, kKubeletPatience);
}

SmallKubelet::Allocated SmallKubelet::allocateImpatiently(const std::string& resource,
                                                          const std::vector<std::string>& ids,
                                                          std::chrono::milliseconds patience) {
  std::shared_ptr<Client> client;
  {
    const std::lock_guard lock(mutex_);
    client = clients_.at(resource);
  }
  v1beta1::AllocateRequest request;
  auto& container = *request.add_container_requests();
  for (const std::string& id : ids) container.add_devices_ids(id);
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + patience);
  Allocated allocated;
  allocated.status = client->stub->Allocate(&context, request, &allocated.response);
  return allocated;
}

void SmallKubelet::dropStream(const std::string& resource) {
  const std::lock_guard lock(mutex_);
  clients_.at(resource)->hangUp();
}

}  // namespace vfiogate::test
