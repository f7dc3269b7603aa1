#include "tests/bench/plugin_client.h"

#include <filesystem>

namespace vfiogate::bench {

std::string pluginSocket(const std::string& kubeletDirectory) {
  const std::string directory = kubeletDirectory + "/device-plugins";
  for (const auto& entry : std::filesystem::directory_iterator(directory)) {
    if (entry.is_socket() && entry.path().filename() != "kubelet.sock") return entry.path();
  }
  giveUp("no plugin has a socket in " + directory);
}

PluginClient::PluginClient(const std::string& socket) {
  grpc::ChannelArguments own;
  own.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);  // or all to one socket share a connection
  const auto channel =
      grpc::CreateCustomChannel("unix:" + socket, grpc::InsecureChannelCredentials(), own);
  if (!channel->WaitForConnected(std::chrono::system_clock::now() + test::kPatience)) {
    giveUp("nobody serves on " + socket);
  }
  plugin_ = v1beta1::DevicePlugin::NewStub(channel);
}

Devices PluginClient::healthyDevices() {
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + test::kPatience);
  const auto frames = plugin_->ListAndWatch(&context, {});
  v1beta1::ListAndWatchResponse frame;
  if (!frames->Read(&frame)) giveUp("ListAndWatch: " + frames->Finish().error_message());
  context.TryCancel();
  Devices healthy;
  for (const v1beta1::Device& device : frame.devices()) {
    if (device.health() == "Healthy") healthy.push_back(device.id());
  }
  return healthy;
}

PluginClient::Answer PluginClient::allocate(const Devices& devices) {
  v1beta1::AllocateRequest request;
  request.add_container_requests()->mutable_devices_ids()->Assign(devices.begin(), devices.end());
  Answer answer{};
  grpc::ClientContext context;
  const auto began = Clock::now();
  answer.status = plugin_->Allocate(&context, request, &answer.response);
  answer.took = Clock::now() - began;
  return answer;
}

Took PluginClient::prefer(const Devices& available, int count) {
  v1beta1::PreferredAllocationRequest request;
  auto& container = *request.add_container_requests();
  container.mutable_available_deviceids()->Assign(available.begin(), available.end());
  container.set_allocation_size(count);
  v1beta1::PreferredAllocationResponse response;
  const Took took = timeCall("GetPreferredAllocation", [&](grpc::ClientContext& context) {
    return plugin_->GetPreferredAllocation(&context, request, &response);
  });
  if (response.container_responses(0).deviceids_size() != count) {
    giveUp("GetPreferredAllocation: not as many devices as were asked for");
  }
  return took;
}

Took PluginClient::callEmpty() {
  v1beta1::DevicePluginOptions options;
  return timeCall("GetDevicePluginOptions", [&](grpc::ClientContext& context) {
    return plugin_->GetDevicePluginOptions(&context, {}, &options);
  });
}

}  // namespace vfiogate::bench
