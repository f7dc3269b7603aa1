#include "sim/kubelet/plugin_client.h"

#include <algorithm>
#include <utility>

namespace vfiogate::sim {
namespace {

std::shared_ptr<grpc::Channel> channelTo(const std::string& socketPath) {
  grpc::ChannelArguments arguments;
  arguments.SetString(GRPC_ARG_DEFAULT_AUTHORITY, "localhost");
  // A connection of its own for each registration, even to the same socket.
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  arguments.SetInt(GRPC_ARG_MAX_RECEIVE_MESSAGE_LENGTH, 4 << 20);
  return grpc::CreateCustomChannel("unix:" + socketPath, grpc::InsecureChannelCredentials(),
                                   arguments);
}

}  // namespace

/// One call under way, which close() can cancel. Keeps the connection until it ends.
class PluginClient::Call {
public:
  explicit Call(PluginClient& client) : client_(client) {
    const std::lock_guard lock(client_.mutex_);
    stub_ = client_.stub_;
    client_.calls_.insert(&context_);
    if (client_.closed_) context_.TryCancel();
  }
  ~Call() {
    const std::lock_guard lock(client_.mutex_);
    client_.calls_.erase(&context_);
  }
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

  grpc::ClientContext& context() { return context_; }
  /// Null once the client is closed.
  Stub* stub() const { return stub_.get(); }

private:
  PluginClient& client_;
  std::shared_ptr<Stub> stub_;
  grpc::ClientContext context_;
};

PluginClient::PluginClient(const std::string& socketPath)
    : channel_(channelTo(socketPath)), stub_(v1beta1::DevicePlugin::NewStub(channel_)) {}

PluginClient::~PluginClient() {
  close();
  if (reader_.joinable()) reader_.join();
}

bool PluginClient::connect(std::chrono::system_clock::time_point deadline) {
  using Clock = std::chrono::system_clock;
  do {
    std::shared_ptr<grpc::Channel> channel;
    {
      const std::lock_guard lock(mutex_);
      channel = channel_;
    }
    if (channel == nullptr) return false;
    // Nothing wakes who waits for a connection: look for close() now and then.
    const auto soon = Clock::now() + std::chrono::milliseconds(20);
    if (channel->WaitForConnected(std::min(soon, deadline))) return true;
  } while (Clock::now() < deadline);
  return false;
}

grpc::Status PluginClient::options(v1beta1::DevicePluginOptions& options,
                                   std::optional<std::chrono::milliseconds> within) {
  Call call(*this);
  if (call.stub() == nullptr) return grpc::Status::CANCELLED;
  if (within) call.context().set_deadline(std::chrono::system_clock::now() + *within);
  return call.stub()->GetDevicePluginOptions(&call.context(), {}, &options);
}

void PluginClient::watch(std::function<void(const Frame&)> onFrame, std::function<void()> ended) {
  reader_ = std::thread([this, onFrame = std::move(onFrame), ended = std::move(ended)]() {
    {
      Call call(*this);
      if (call.stub() != nullptr) {
        const auto stream = call.stub()->ListAndWatch(&call.context(), {});
        Frame frame;
        while (stream->Read(&frame)) onFrame(frame);
        [[maybe_unused]] const grpc::Status status = stream->Finish();
      }
    }
    ended();
  });
}

grpc::Status PluginClient::allocate(const v1beta1::AllocateRequest& request,
                                    v1beta1::AllocateResponse& response) {
  Call call(*this);
  if (call.stub() == nullptr) return grpc::Status::CANCELLED;
  return call.stub()->Allocate(&call.context(), request, &response);
}

grpc::Status PluginClient::preferred(const v1beta1::PreferredAllocationRequest& request,
                                     v1beta1::PreferredAllocationResponse& response) {
  Call call(*this);
  if (call.stub() == nullptr) return grpc::Status::CANCELLED;
  return call.stub()->GetPreferredAllocation(&call.context(), request, &response);
}

grpc::Status PluginClient::preStart(const v1beta1::PreStartContainerRequest& request,
                                    std::chrono::milliseconds within) {
  Call call(*this);
  if (call.stub() == nullptr) return grpc::Status::CANCELLED;
  call.context().set_deadline(std::chrono::system_clock::now() + within);
  v1beta1::PreStartContainerResponse nothing;
  return call.stub()->PreStartContainer(&call.context(), request, &nothing);
}

void PluginClient::close() {
  const std::lock_guard lock(mutex_);
  closed_ = true;
  for (auto* call : calls_) call->TryCancel();
  stub_.reset();
  channel_.reset();
}

}  // namespace vfiogate::sim
