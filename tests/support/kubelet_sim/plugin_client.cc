#include "tests/support/kubelet_sim/plugin_client.h"

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

PluginClient::PluginClient(const std::string& socketPath)
    : channel_(channelTo(socketPath)), stub_(v1beta1::DevicePlugin::NewStub(channel_)) {}

PluginClient::~PluginClient() {
  close();
  if (reader_.joinable()) reader_.join();
}

bool PluginClient::connect(std::chrono::milliseconds within) {
  return channel_->WaitForConnected(std::chrono::system_clock::now() + within);
}

grpc::Status PluginClient::options(v1beta1::DevicePluginOptions& options,
                                   std::chrono::milliseconds within) {
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + within);
  return stub_->GetDevicePluginOptions(&context, {}, &options);
}

void PluginClient::watch(std::function<void(const Frame&)> onFrame, std::function<void()> ended) {
  reader_ = std::thread([this, onFrame = std::move(onFrame), ended = std::move(ended)]() {
    const auto stream = stub_->ListAndWatch(&watching_, {});
    Frame frame;
    while (stream->Read(&frame)) onFrame(frame);
    [[maybe_unused]] const grpc::Status status = stream->Finish();
    ended();
  });
}

grpc::Status PluginClient::allocate(const v1beta1::AllocateRequest& request,
                                    v1beta1::AllocateResponse& response) {
  grpc::ClientContext context;  // no deadline, as in the real one (K16)
  return stub_->Allocate(&context, request, &response);
}

void PluginClient::close() {
  watching_.TryCancel();
}

}  // namespace vfiogate::sim
