#include "tests/bench/bench_node.h"

#include "privd/scan/pci_scan.h"

#include <filesystem>

namespace vfiogate::bench {

BenchNode::BenchNode(unsigned devices)
    : node_(devices, "off"),
      sysfs_(*SysfsRoot::open(node_.hardware().sysfs())),
      dev_(*DevRoot::open(node_.hardware().dev())) {
  refill();
}

void BenchNode::refill() {
  free_.clear();
  for (unsigned i = 0; i < devices(); ++i) free_.push_back(addressOf(i));
  connect();
  adopt();
}

void BenchNode::connect() {
  std::string socket;
  for (const auto& entry :
       std::filesystem::directory_iterator(node_.kubeletDirectory() + "/device-plugins")) {
    const std::string name = entry.path().filename();
    if (name.starts_with("vfiogate-")) socket = entry.path();
  }
  const auto channel = grpc::CreateChannel("unix:" + socket, grpc::InsecureChannelCredentials());
  if (!channel->WaitForConnected(std::chrono::system_clock::now() + test::kPatience)) {
    giveUp("nobody serves on " + socket);
  }
  plugin_ = v1beta1::DevicePlugin::NewStub(channel);
}

void BenchNode::adopt() {
  askFor(free_.front());
  free_.pop_front();
  callEmpty();
}

v1beta1::AllocateResponse BenchNode::askFor(const std::string& device) {
  v1beta1::AllocateRequest request;
  request.add_container_requests()->add_devices_ids(device);
  v1beta1::AllocateResponse response;
  grpc::ClientContext context;
  const grpc::Status status = plugin_->Allocate(&context, request, &response);
  if (!status.ok())
    giveUp(device + " was refused: " + status.error_message() + "\n" + node_.plugind().output());
  return response;
}

Took BenchNode::allocate() {
  if (free_.empty()) {
    ++restarts_;
    node_.restartPlugind();
    node_.awaitAll();
    refill();
  }
  const std::string device = free_.front();
  free_.pop_front();
  const auto began = Clock::now();
  const v1beta1::AllocateResponse response = askFor(device);
  const Took took = Clock::now() - began;
  if (response.container_responses(0).devices_size() != 2) giveUp("an answer without nodes");
  return took;
}

Took BenchNode::callEmpty() {
  v1beta1::DevicePluginOptions options;
  grpc::ClientContext context;
  const auto began = Clock::now();
  const grpc::Status status = plugin_->GetDevicePluginOptions(&context, {}, &options);
  const Took took = Clock::now() - began;
  if (!status.ok()) giveUp("GetDevicePluginOptions: " + status.error_message());
  return took;
}

Took BenchNode::readGroup() {
  const IommuGroupId group(read_++ % devices());
  const auto began = Clock::now();
  const Snapshot seen = scanGroup(sysfs_, dev_, group);
  const Took took = Clock::now() - began;
  if (seen.groups.at(group).use != GroupUse::kIdle) giveUp("a group that is not idle");
  return took;
}

}  // namespace vfiogate::bench
